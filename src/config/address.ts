// The grammar of names and addresses in flags: HOST, HOST:PORT, [NAME=]VALUE, DNS and header names.
// Pure syntax: it never resolves a name and knows no flag.

/** A peer's address: `host` without brackets, in canonical form (lower case, shortest IPv6). */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * A host to bind or to dial: an IPv4 address, an IPv6 address (in brackets or not) or a DNS name.
 * Returns its canonical form without brackets, or undefined. A zone (`%eth0`) is not supported.
 */
export function parseHost(text: string): string | undefined {
  const v6 = /^\[(.*)\]$/.exec(text)?.[1] ?? (text.includes(':') ? text : undefined);
  if (v6 !== undefined) return /^[0-9a-fA-F:.]+$/.test(v6) ? canonical(`[${v6}]`)?.slice(1, -1) : undefined;
  if (!/^[A-Za-z0-9._-]+$/.test(text)) return undefined;
  const host = canonical(text);
  // URL reads 1.2.3 and 0x7f.1 as IPv4 addresses; whoever writes that means something else.
  return host === text.toLowerCase() ? host : undefined;
}

function canonical(host: string): string | undefined {
  const url = `https://${host}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** HOST:PORT, where IPv6 needs its brackets and the port is from 1 to 65535; undefined if it is not. */
export function parseAddress(text: string): Address | undefined {
  const match = /^(\[[^\]]*\]|[^:[\]]*):(\d{1,5})$/.exec(text);
  const host = match && parseHost(match[1] ?? '');
  const port = Number(match?.[2]);
  return host && port >= 1 && port <= 65_535 ? { host, port } : undefined;
}

/** Splits [NAME=]VALUE at the first `=`; a NAME never holds a slash, so a path may hold an `=` after one. */
export function splitNamed(text: string): { readonly name?: string; readonly value: string } {
  const match = /^([^=/]*)=(.*)$/s.exec(text);
  return match ? { name: match[1] ?? '', value: match[2] ?? '' } : { value: text };
}

/** Whether a peer may be called this: it becomes a part of a URL path and the value of a metric label. */
export const isPeerName = (text: string): boolean =>
  /^[A-Za-z0-9._:\-[\]]+$/.test(text) && text !== '.' && text !== '..';

const LABEL = '[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?';
const DNS_NAME = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);

/** Whether TLS can ask for this name: DNS without a dot at its end, and no IP address (RFC 6066, section 3). */
export const isServerName = (text: string): boolean =>
  text.length <= 253 && DNS_NAME.test(text) && !/(?:^|\.)\d+$/.test(text);

/** Whether this can be a node's name or a zone: a Kubernetes name or label value. */
export const isPlaceName = (text: string): boolean =>
  text.length <= 253 && /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(text);

/** Whether this can be the name of a namespace or a Service: an RFC 1123 label. */
export const isDnsLabel = (text: string): boolean => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text);

/** Whether this is a field name: a token of RFC 9110, section 5.6.2. */
export const isHeaderName = (text: string): boolean => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text);
