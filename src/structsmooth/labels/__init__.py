"""From strengths to labels, in every form a learner may want."""
