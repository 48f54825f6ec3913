"""The numbers in the paper: test errors in percent, and cross-entropies.

From Li, Dasarathy, Berisha: Regularization via Structural Label Smoothing (AISTATS
2020). They are shown next to our tables; nothing is computed from them.
"""

# Table 1. By method and alpha: mean and standard deviation for each beta.
TABLE_1 = {
    ("none", 0.0): [(24.82, 0.19)],
    ("uniform", 0.1): [(24.63, 0.14)],
    ("structural", 0.1): [
        (24.6, 0.04),
        (24.55, 0.22),
        (24.62, 0.15),
        (24.48, 0.11),
        (24.52, 0.12),
    ],
    ("reversed", 0.1): [
        (24.92, 0.24),
        (25.22, 0.23),
        (25.08, 0.18),
        (25.35, 0.19),
        (25.73, 0.08),
    ],
    ("uniform", 0.2): [(25.02, 0.29)],
    ("structural", 0.2): [
        (24.68, 0.11),
        (24.42, 0.07),
        (24.46, 0.05),
        (24.45, 0.08),
        (24.46, 0.11),
    ],
    ("reversed", 0.2): [
        (25.28, 0.25),
        (25.26, 0.11),
        (25.43, 0.07),
        (25.47, 0.1),
        (25.62, 0.05),
    ],
    ("uniform", 0.3): [(25.67, 0.13)],
    ("structural", 0.3): [
        (24.97, 0.14),
        (24.58, 0.08),
        (24.55, 0.03),
        (24.76, 0.09),
        (24.75, 0.04),
    ],
    ("reversed", 0.3): [
        (25.61, 0.13),
        (25.44, 0.17),
        (25.63, 0.12),
        (25.85, 0.05),
        (26.03, 0.05),
    ],
}

# Table 1, the lowest errors of five runs, for each beta.
LOWEST_1 = {
    ("none", 0.0): [24.65],
    ("uniform", 0.1): [24.5],
    ("structural", 0.1): [24.56, 24.2, 24.4, 24.29, 24.42],
    ("uniform", 0.2): [24.59],
    ("structural", 0.2): [24.58, 24.33, 24.38, 24.34, 24.28],
    ("uniform", 0.3): [25.47],
    ("structural", 0.3): [24.78, 24.48, 24.53, 24.65, 24.7],
}

# Tables 2a and 2b. By study, method and alpha: mean and deviation of the error, and
# the cross-entropy. "plain" is without batch normalization.
TABLE_2 = {
    "svhn-plain": {
        ("none", 0.0): (5.49, 0.18, 0.7905),
        ("uniform", 0.1): (5.21, 0.1, 0.2922),
        ("structural", 0.1): (5.11, 0.14, 0.2904),
        ("uniform", 0.2): (5.3, 0.04, 0.3881),
        ("structural", 0.2): (5.19, 0.14, 0.388),
        ("uniform", 0.3): (5.24, 0.09, 0.5019),
        ("structural", 0.3): (5.15, 0.11, 0.504),
    },
    "svhn": {
        ("none", 0.0): (4.28, 0.02, 0.3353),
        ("uniform", 0.1): (4.01, 0.09, 0.2411),
        ("structural", 0.1): (3.97, 0.04, 0.2407),
        ("uniform", 0.2): (4.12, 0.12, 0.348),
        ("structural", 0.2): (4.01, 0.11, 0.3427),
        ("uniform", 0.3): (4.01, 0.12, 0.4694),
        ("structural", 0.3): (4.0, 0.1, 0.47),
    },
    "cifar10-plain": {
        ("none", 0.0): (22.43, 1.66, 2.3823),
        ("uniform", 0.1): (21.07, 1.52, 0.7613),
        ("structural", 0.1): (20.64, 1.11, 0.7415),
        ("uniform", 0.2): (21.77, 1.64, 0.8394),
        ("structural", 0.2): (21.22, 1.04, 0.8144),
        ("uniform", 0.3): (21.81, 1.52, 0.9264),
        ("structural", 0.3): (21.14, 0.56, 0.9091),
    },
    "cifar10": {
        ("none", 0.0): (12.34, 0.27, 0.8431),
        ("uniform", 0.1): (12.49, 0.25, 0.5243),
        ("structural", 0.1): (12.52, 0.38, 0.5205),
        ("uniform", 0.2): (12.57, 0.18, 0.59),
        ("structural", 0.2): (12.23, 0.32, 0.5822),
        ("uniform", 0.3): (12.92, 0.22, 0.6953),
        ("structural", 0.3): (12.74, 0.24, 0.6897),
    },
    "cifar100-plain": {
        ("none", 0.0): (57.39, 2.06, 8.5204),
        ("uniform", 0.1): (58.89, 3.42, 2.6632),
        ("structural", 0.1): (56.27, 1.55, 2.4696),
        ("uniform", 0.2): (55.09, 1.13, 2.4891),
        ("structural", 0.2): (56.85, 2.14, 2.521),
        ("uniform", 0.3): (54.26, 1.44, 2.5606),
        ("structural", 0.3): (54.0, 2.23, 2.4959),
    },
    "cifar100": {
        ("none", 0.0): (37.83, 0.24, 2.7568),
        ("uniform", 0.1): (38.3, 0.82, 1.8344),
        ("structural", 0.1): (38.03, 0.85, 1.8062),
        ("uniform", 0.2): (37.77, 0.5, 1.8834),
        ("structural", 0.2): (37.24, 0.7, 1.8621),
        ("uniform", 0.3): (38.25, 0.31, 1.9945),
        ("structural", 0.3): (38.13, 0.57, 1.979),
    },
}

# Table 2a, the lowest errors of five runs.
LOWEST_2 = {
    "svhn-plain": {
        ("uniform", 0.1): 5.11,
        ("structural", 0.1): 4.92,
        ("uniform", 0.2): 5.25,
        ("structural", 0.2): 5.01,
        ("uniform", 0.3): 5.1,
        ("structural", 0.3): 5.02,
    },
    "svhn": {
        ("uniform", 0.1): 3.95,
        ("structural", 0.1): 3.91,
        ("uniform", 0.2): 3.95,
        ("structural", 0.2): 3.91,
        ("uniform", 0.3): 3.9,
        ("structural", 0.3): 3.88,
    },
    "cifar10-plain": {
        ("uniform", 0.1): 19.12,
        ("structural", 0.1): 19.16,
        ("uniform", 0.2): 19.89,
        ("structural", 0.2): 19.62,
        ("uniform", 0.3): 20.64,
        ("structural", 0.3): 20.35,
    },
    "cifar10": {
        ("uniform", 0.1): 12.16,
        ("structural", 0.1): 11.9,
        ("uniform", 0.2): 12.39,
        ("structural", 0.2): 11.9,
        ("uniform", 0.3): 12.71,
        ("structural", 0.3): 12.46,
    },
    "cifar100-plain": {
        ("uniform", 0.1): 55.52,
        ("structural", 0.1): 55.16,
        ("uniform", 0.2): 53.46,
        ("structural", 0.2): 55.01,
        ("uniform", 0.3): 53.23,
        ("structural", 0.3): 52.26,
    },
    "cifar100": {
        ("uniform", 0.1): 37.26,
        ("structural", 0.1): 37.16,
        ("uniform", 0.2): 37.22,
        ("structural", 0.2): 36.64,
        ("uniform", 0.3): 37.82,
        ("structural", 0.3): 37.2,
    },
}

# The cells of Table 4 that are compared; where its halves differ, the upper one.
TABLE_4 = {
    "svhn": {
        ("CSR", "ED"): 0.6091,
        ("CSR", "BER"): 0.7704,
        ("ED", "BER"): 0.5329,
        ("CSR", "SLS1"): 0.6785,
    },
    "cifar10": {
        ("CSR", "ED"): 0.7574,
        ("CSR", "BER"): 0.7062,
        ("ED", "BER"): 0.5401,
        ("CSR", "SLS1"): 0.6911,
    },
    "cifar100": {
        ("CSR", "ED"): 0.798,
        ("CSR", "BER"): 0.85,
        ("ED", "BER"): 0.8127,
        ("CSR", "SLS1"): 0.6958,
    },
}
