// Who the peer shall believe the caller is. The peer believes these headers, so every inbound copy is removed
// before ours are written: whoever the client is, in any case and number (headers.ts does the removing, with the
// names from here). Knows nothing of certificates or sockets.

/** Names of the identity headers, from `--requestheader-*`. The first of each is written, all are removed. */
export interface IdentityHeaderNames {
  readonly username: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefix: readonly string[];
  readonly uid: readonly string[];
}

/** A caller whom we vouch for, as kube-apiserver's x509 authenticator would see it. */
export interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
  readonly extra: readonly (readonly [key: string, value: string])[];
}

const STANDARD_NAMES = ['x-remote-user', 'x-remote-uid', 'x-remote-group'];
const STANDARD_PREFIX = 'x-remote-extra-';

/** What to strip: lower-case names and prefixes, the configured and the standard ones. */
export function identityHeaders(names: IdentityHeaderNames): {
  names: readonly string[];
  prefixes: readonly string[];
} {
  const lower = (list: readonly string[]) => list.map((name) => name.toLowerCase());
  return {
    names: [...STANDARD_NAMES, ...lower(names.username), ...lower(names.group), ...lower(names.uid)],
    prefixes: [STANDARD_PREFIX, ...lower(names.extraPrefix)],
  };
}

/**
 * The headers that state an identity: flat list, one header per group, extra keys escaped as client-go does
 * (k8s.io/client-go transport/round_trippers.go SetAuthProxyHeaders). Undefined where a value cannot stand in a
 * header as it is: controls would end it, and a peer would trim blanks at its ends and see somebody else.
 */
export function stampIdentity(identity: Identity, names: IdentityHeaderNames): readonly string[] | undefined {
  const { user, groups, extra } = identity;
  const values = [user, ...groups, ...extra.map(([, value]) => value)];
  if (user === '' || !values.every(isFaithful)) return undefined;
  const [username = 'X-Remote-User'] = names.username;
  const [group = 'X-Remote-Group'] = names.group;
  const [prefix = 'X-Remote-Extra-'] = names.extraPrefix;
  return [
    ...[username, toBytes(user)],
    ...groups.flatMap((g) => [group, toBytes(g)]),
    ...extra.flatMap(([key, value]) => [prefix + escapeKey(key), toBytes(value)]),
  ];
}

/** Whether a value arrives as it was sent (RFC 9110 section 5.5). */
function isFaithful(value: string): boolean {
  // eslint-disable-next-line no-control-regex -- controls are what is looked for
  return !/[\u0000-\u001f\u007f]/.test(value) && value === value.trim();
}

/** UTF-8 bytes, each as one character: what Node writes for a header as it is. */
function toBytes(value: string): string {
  return String.fromCharCode(...new TextEncoder().encode(value));
}

/** Percent-encodes every byte that may not stand in a header name, and the percent sign. */
function escapeKey(key: string): string {
  return Array.from(new TextEncoder().encode(key), (byte) => {
    const character = String.fromCharCode(byte);
    const legal = /[!#$&'*+\-.^_`|~0-9A-Za-z]/.test(character);
    return legal ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');
}
