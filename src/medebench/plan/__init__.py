"""Plans: a YAML file that names case set, editors, metrics and judge."""

from medebench.plan.model import Plan, builtin_plans, load_plan
from medebench.plan.running import Done, run_plan

__all__ = ["Done", "Plan", "builtin_plans", "load_plan", "run_plan"]
