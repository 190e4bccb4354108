// Places and who is on them, as pure functions. `slots` has as many places as there are outputs, best
// first; some may be empty while a person is still at it. What is saved is the order without gaps.

const ENDINGS = { 1: "st", 2: "nd", 3: "rd" };
export const ordinal = (number) => {
  const teen = number % 100 >= 11 && number % 100 <= 13;
  return `${number}${(!teen && ENDINGS[number % 10]) || "th"}`;
};

export const spread = (groups, size) => Array.from({ length: size }, (_, place) => [...(groups[place] ?? [])].sort());
export const squeeze = (slots) => slots.filter((group) => group.length).map((group) => [...group].sort());
export const slotOf = (slots, letter) => slots.findIndex((group) => group.includes(letter));
export const unrank = (slots, letter) => slots.map((group) => group.filter((one) => one !== letter));
export const ranked = (slots) => slots.reduce((sum, group) => sum + group.length, 0);
export const isComplete = (slots) => ranked(slots) === slots.length;

// Gaps mean nothing once everything has a place.
const settle = (slots) => (isComplete(slots) ? spread(squeeze(slots), slots.length) : slots);

// Onto a place: tied with whoever is there.
export const put = (slots, letter, place) => {
  const rest = unrank(slots, letter);
  rest[place] = [...rest[place], letter].sort();
  return settle(rest);
};

// A place of its own before place `gap`. One place is empty as soon as the letter is taken out, so the
// places between it and the gap can move up by one.
export const insert = (slots, letter, gap) => {
  const rest = unrank(slots, letter);
  let empty = rest.findIndex((group, place) => place >= gap && !group.length);
  if (empty >= 0) {
    rest.splice(empty, 1);
    rest.splice(gap, 0, [letter]);
  } else {
    empty = rest.findLastIndex((group, place) => place < gap && !group.length);
    rest.splice(empty, 1);
    rest.splice(gap - 1, 0, [letter]);
  }
  return settle(rest);
};

const above = (slots, place) => slots.findLastIndex((group, one) => one < place && group.length);
const below = (slots, place) => slots.findIndex((group, one) => one > place && group.length);

// After the last one that has a place.
export const append = (slots, letter) => {
  const rest = unrank(slots, letter);
  return insert(rest, letter, above(rest, rest.length) + 1);
};

export const better = (slots, letter) => {
  const place = slotOf(slots, letter);
  if (place < 0) return append(slots, letter);
  if (slots[place].length > 1) return insert(slots, letter, place);
  const next = above(slots, place);
  return next < 0 ? slots : insert(slots, letter, next);
};

export const worse = (slots, letter) => {
  const place = slotOf(slots, letter);
  if (place < 0) return append(slots, letter);
  if (slots[place].length > 1) return insert(slots, letter, place + 1);
  const next = below(slots, place);
  return next < 0 ? slots : insert(slots, letter, next + 1);
};

export const tieAbove = (slots, letter) => {
  const place = slotOf(slots, letter);
  const next = above(slots, place < 0 ? slots.length : place);
  return next < 0 ? slots : put(slots, letter, next);
};

// "2nd, tied with C"
export const placeWords = (slots, letter) => {
  const place = slotOf(slots, letter);
  if (place < 0) return "not ranked";
  const others = slots[place].filter((one) => one !== letter);
  return ordinal(place + 1) + (others.length ? `, tied with ${others.join(" and ")}` : "");
};

// "B, then A = C"
export const orderWords = (groups) => (groups.length ? groups.map((group) => group.join(" = ")).join(" › ") : "nothing ranked");
