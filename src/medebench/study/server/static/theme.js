// Dark and light: as the system says, until the button is pressed.
const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const button = document.getElementById("theme");

const recall = () => { try { return localStorage.getItem("medebench-theme"); } catch { return null; } };
const remember = (value) => { try { localStorage.setItem("medebench-theme", value); } catch { /* private */ } };
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
const show = () => {
  if (!button) return;
  button.textContent = isDark() ? "☀" : "☾";
  const words = isDark() ? "Light colours" : "Dark colours";
  button.setAttribute("aria-label", words);
  button.title = words;
};

const kept = recall();
if (kept === "dark" || kept === "light") root.dataset.theme = kept;
button?.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  remember(root.dataset.theme);
  show();
});
system.addEventListener("change", show);
show();
