"""How many days until each seed packet should be sown."""

from datetime import date

PACKETS = {"lettuce": date(2026, 3, 15), "tomato": date(2026, 2, 20), "bean": date(2026, 5, 10)}


def days_left(packet: str, today: date) -> int:
    """Days from *today* until the packet should be sown; negative once it is late."""
    return (PACKETS[packet] - today).days


def late(today: date) -> list[str]:
    """Packets whose day has passed."""
    return sorted(name for name in PACKETS if days_left(name, today) < 0)
