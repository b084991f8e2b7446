"""How movements that take their time begin and end, by pyautogui's names: easeInQuad, easeOutBounce, easeInOutSine …"""

import math


def bounce_out(share):
    for start, end, lift in ((1 / 2.75, 0, 0), (2 / 2.75, 1.5, 0.75), (2.5 / 2.75, 2.25, 0.9375), (2, 2.625, 0.984375)):
        if share < start:
            return 7.5625 * (share - end / 2.75) ** 2 + lift
    return 1


CURVES = {
    "Quad": lambda share: share**2,
    "Cubic": lambda share: share**3,
    "Quart": lambda share: share**4,
    "Quint": lambda share: share**5,
    "Sine": lambda share: 1 - math.cos(share * math.pi / 2),
    "Expo": lambda share: 0 if share <= 0 else 2 ** (10 * (share - 1)),
    "Circ": lambda share: 1 - math.sqrt(max(0, 1 - share**2)),
    "Back": lambda share: share**2 * (2.70158 * share - 1.70158),
    "Bounce": lambda share: 1 - bounce_out(1 - share),
    "Elastic": lambda share: share
    if share in (0, 1)
    else -(2 ** (10 * (share - 1))) * math.sin((share - 1.075) * 2 * math.pi / 0.3),
}


def linear(share):
    return share


def out(curve):
    return lambda share: 1 - curve(1 - share)


def in_out(curve):
    return lambda share: curve(2 * share) / 2 if share < 0.5 else 1 - curve(2 - 2 * share) / 2


TWEENS = {"linear": linear}
for name, curve in CURVES.items():
    TWEENS |= {f"easeIn{name}": curve, f"easeOut{name}": out(curve), f"easeInOut{name}": in_out(curve)}
