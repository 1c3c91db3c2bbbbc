"""Fetch a page for `ingest`, never from an address of this machine or of a private network."""

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from drag_graph.documents.file_loaders import MEDIA_TYPES
from drag_graph.errors import ConfigurationError, DocumentUnusable

if TYPE_CHECKING:
    import httpx

SECONDS = 30.0
"""For the whole page, with its redirects."""
LARGEST_PAGE = 32 * 1024 * 1024
"""Bytes."""
MOST_REDIRECTS = 5
LONGEST_NAME = 100
"""Bytes, without the extension."""
_EMBEDDING = ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96", "::ffff:0:0:0/96")
"""Networks whose addresses contain an IPv4 address that a gateway may use."""
_REFUSED = tuple(map(ipaddress.ip_network, (*_EMBEDDING, "fec0::/10")))  # the last: private networks of older systems
Resolve = Callable[[str, int], list[str]]


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page, and a name for it whose extension matches the media type."""

    name: str
    content: bytes


def resolve(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host. Raises DocumentUnusable."""
    try:
        return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError) as error:
        raise DocumentUnusable(f"The host {host!r} cannot be found.", hint="Correct the address.") from error


def public_address(url: "httpx.URL", find: Resolve = resolve) -> str:
    """Return the IP address to connect to.

    Raises ConfigurationError if the URL is not a plain http or https address, or an address of its host is not public.
    Raises DocumentUnusable if the host is not found.
    """
    hint = "Use the http or https address of a public page."
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo:
        raise ConfigurationError("The service does not fetch this URL.", hint=hint)
    addresses = find(url.host, url.port or (443 if url.scheme == "https" else 80))
    if not addresses or not all(_is_public(address) for address in addresses):
        raise ConfigurationError(f"The host {url.host!r} is not public.", hint=hint)
    return addresses[0]


def fetch_page(address: str, *, find: Resolve = resolve, transport: "httpx.AsyncBaseTransport | None" = None) -> FetchedPage:
    """Fetch a page; every redirect is checked like the first address, and only checked IP addresses are connected to.

    Raises the errors of `public_address`, and DocumentUnusable if the page cannot be fetched, is too large, or is no document.
    """

    async def fetch() -> FetchedPage:
        async with asyncio.timeout(SECONDS):
            return await _fetched(address, find, transport)

    try:
        return asyncio.run(fetch())
    except TimeoutError as error:
        raise DocumentUnusable(f"The page takes more than {SECONDS:g} seconds.", hint="Try again later.") from error


async def _fetched(address: str, find: Resolve, transport: "httpx.AsyncBaseTransport | None") -> FetchedPage:
    import httpx

    url = parsed_url(address)
    # Without a proxy: it would resolve the names itself.
    async with httpx.AsyncClient(transport=transport, timeout=SECONDS, trust_env=False, follow_redirects=False) as client:
        for _ in range(MOST_REDIRECTS + 1):
            pinned = url.copy_with(host=public_address(url, find))
            headers = {"Host": url.netloc.decode("ascii"), "Accept-Encoding": "identity"}
            names = {"sni_hostname": url.raw_host.decode("ascii")}
            try:
                async with client.stream("GET", pinned, headers=headers, extensions=names) as reply:
                    if reply.has_redirect_location:
                        url = url.join(reply.headers["location"])
                        continue
                    reply.raise_for_status()
                    return await _read(url, reply)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                message = f"The page cannot be fetched: {type(error).__name__}."
                raise DocumentUnusable(message, hint="Try again later.") from error
    raise DocumentUnusable(f"The page redirects more than {MOST_REDIRECTS} times.")


def parsed_url(address: str) -> "httpx.URL":
    """Return a URL. Raises ConfigurationError if it is not valid."""
    import httpx

    try:
        return httpx.URL(address)
    except (httpx.InvalidURL, TypeError) as error:
        raise ConfigurationError("The URL is not valid.", hint="Write it as https://HOST/PATH.") from error


def _is_public(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif any(ip in network for network in _REFUSED):
            return False
    return ip.is_global and not ip.is_multicast


async def _read(url: "httpx.URL", reply: "httpx.Response") -> FetchedPage:
    media_type = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    endings = [ending for ending, known in MEDIA_TYPES.items() if known == media_type]
    if not endings:
        raise DocumentUnusable(f"The page has the media type {media_type[:80]!r}, which is not supported.")
    content = bytearray()
    async for part in reply.aiter_bytes():
        content += part
        if len(content) > LARGEST_PAGE:
            raise DocumentUnusable(f"The page has more than {LARGEST_PAGE:,} bytes.")
    last = _end(PurePosixPath(unquote(url.path)).name).lstrip(".") or _end(url.host)
    stem = "".join(letter if letter.isalnum() or letter in "-_. " else "-" for letter in last)
    return FetchedPage(stem if PurePosixPath(stem).suffix.lower() in endings else f"{stem}{endings[0]}", bytes(content))


def _end(name: str) -> str:
    return name.encode()[-LONGEST_NAME:].decode(errors="ignore")
