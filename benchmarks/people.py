"""A made-up table like a census: numbers, text, a date, truth values and gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

WORK = ["Private", "Self-employed", "State", "Federal", "Local", "Without pay"]
SCHOOL = ["Primary", "High school", "College", "Bachelor", "Master", "Doctor"]
FAMILY = ["Married", "Divorced", "Never married", "Widowed", "Separated"]
JOBS = [
    *("Clerk", "Craft", "Executive", "Farming", "Cleaner", "Machines", "Service"),
    *("Specialist", "Guard", "Sales", "Support", "Transport", "Soldier", "Household"),
]
COUNTRIES = ["Atlantis", *(f"Island {number}" for number in range(1, 42))]


def people(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Return a table of 14 columns, 8 of them text, and whether people earn much."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(9.0, 4.3, n_rows), 17, 90).astype(int)
    school = np.clip(rng.normal(2.0, 1.2, n_rows).round(), 0, 5).astype(int)
    hours = np.clip(rng.normal(40.0, 12.0, n_rows).round(), 1, 99).astype(int)
    married = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-(age - 32) / 6.0))
    family = np.where(married, 0, rng.integers(1, 5, n_rows))
    job = (rng.integers(0, 14, n_rows) + 2 * school) % 14
    gain = np.where(rng.random(n_rows) < 0.08, rng.lognormal(8.0, 1.3, n_rows), 0.0)
    country = np.where(rng.random(n_rows) < 0.9, 0, rng.integers(1, 42, n_rows))
    score = 0.05 * (age - 38) + 0.9 * (school - 2.3) + 1.8 * married
    score += 0.03 * (hours - 40) + (gain > 5000) * 3.0 - 2.6
    rich = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-1.4 * score))
    day = np.datetime64("1994-01-01") + rng.integers(0, 365, n_rows)
    frame = pd.DataFrame(
        {
            "age": age,
            "work": np.array(WORK)[rng.choice(6, n_rows, p=SHARES)],
            "weight": rng.lognormal(12.0, 0.5, n_rows).round(),
            "school": np.array(SCHOOL)[school],
            "asked": day.astype(str),
            "family": np.array(FAMILY)[family],
            "job": np.array(JOBS)[job],
            "gain": gain.round(),
            "hours": hours.astype(float),
            "country": np.array(COUNTRIES)[country],
            "sex": np.where(rng.random(n_rows) < 0.5, "Female", "Male"),
            "owner": rng.random(n_rows) < 0.4,
            "street": np.array([f"{k} Road" for k in rng.integers(0, 10**6, n_rows)]),
            "region": np.array(list("NESW"))[rng.integers(0, 4, n_rows)],
        }
    )
    frame.loc[rng.random(n_rows) < 0.06, ["work", "job"]] = "?"
    frame.loc[rng.random(n_rows) < 0.04, "hours"] = np.nan
    return frame, np.where(rich, ">50K", "<=50K")


SHARES = [0.70, 0.11, 0.04, 0.03, 0.119, 0.001]
