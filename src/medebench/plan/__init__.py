"""Plans: a YAML file that names case set, editors, metrics and judge."""

from medebench.plan.plan_model import Plan, builtin_plans, load_plan
from medebench.plan.plan_run import PlanResult, run_plan

__all__ = ["Plan", "PlanResult", "builtin_plans", "load_plan", "run_plan"]
