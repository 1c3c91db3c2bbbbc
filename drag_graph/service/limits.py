"""The limits of a service. `middleware`, `ask_queue` and `jobs` apply them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one service. Sizes are in bytes, times in seconds.

    `hosts` are names that the Host header may have, in addition to addresses and `localhost`. `origins` are origins of other
    web pages that may call the service. Up to `jobs` may be queued or running. With `allows_urls`, a job may fetch a public
    page.
    """

    body_bytes: int = 256 * 1024
    upload_bytes: int = 32 * 1024 * 1024
    receive_seconds: float = 30.0
    answer_seconds: float = 300.0
    asks: int = 4
    waiting_asks: int = 32
    jobs: int = 32
    allows_urls: bool = False
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
