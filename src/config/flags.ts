// The one table of flags of `uvip serve`: parse.ts reads command lines by it, help.ts makes --help and the
// README's section from it. Adding a flag is adding a row. It never parses, and knows no Config.
import { bytes, duration, fraction, int, list, oneOf, optional, text, type FlagTable } from './flag.ts';

// Port 0 is a free one of the system's choice.
const PORTS = [0, 65_535] as const;

const clientListener = {
  'bind-address': text('ADDRESS', '0.0.0.0', 'Address the client listener binds.'),
  'secure-port': int('PORT', '8443', PORTS, 'Port of the client listener; 0 takes any free one.'),
  'tls-cert-file': optional('FILE', 'Its certificate, PEM, with intermediates after it.', 'required'),
  'tls-private-key-file': optional('FILE', 'The key of that certificate, PEM.', 'required'),
  'client-ca-file': optional(
    'FILE',
    'CA bundle that verifies client certificates: who shows one is whom it names.',
    'none, client certificates are not asked for',
  ),
  'discovery-authorization': oneOf(
    ['peer', 'none'],
    'peer',
    'Who may read the merged discovery: whom a peer lets read its own, or everybody.',
  ),
  // Under 4 KiB a bearer token does not fit; what is allowed here may be held once per connection.
  'max-header-bytes': bytes('1MiB', ['4KiB', '16MiB'], 'Most a request line and its headers may take.'),
  // The most that kube-apiserver allows.
  'goaway-chance': fraction(
    '0',
    [0, 0.02],
    'Share of requests answered with a GOAWAY, so that HTTP/2 clients connect anew.',
  ),
};

const NO_OTHER = 'required, unless there is --peer-config';

const peers = {
  'peer-address': list('[NAME=]HOST:PORT', [], 'A peer; NAME defaults to HOST:PORT. Repeat it.', NO_OTHER),
  'peer-ca-file': list(
    '[NAME=]FILE',
    [],
    "CA bundle that verifies the peers' serving certificates.",
    'required, unless every peer has its own',
  ),
  'peer-server-name': list(
    '[NAME=]DNS',
    ['kubernetes.default.svc'],
    "Name the peers' serving certificates must carry, sent as SNI.",
  ),
  'peer-node': list('NAME=NODE', [], 'Node a peer runs on.'),
  'peer-zone': list('NAME=ZONE', [], 'Zone a peer runs in.'),
  'peer-config': optional(
    'FILE',
    'Peers as YAML or JSON: a list, or EndpointSlices. Re-read when it changes.',
  ),
  'peer-endpointslices': optional(
    'NAMESPACE/SERVICE',
    'Service whose EndpointSlices are watched for peers, through the peers themselves.',
  ),
};

const traffic = {
  'node-name': optional('NODE', 'Node this proxy runs on.'),
  zone: optional('ZONE', 'Zone this proxy runs in.'),
  'peer-traffic-distribution': optional(
    'PreferSameNode|PreferSameZone|PreferClose',
    'Peers to prefer. It rewrites the hints of EndpointSlices; PreferClose is deprecated, same as PreferSameZone.',
  ),
};

const identity = {
  'proxy-client-cert-file': optional('FILE', 'Front-proxy certificate shown when we vouch for a caller.'),
  'proxy-client-key-file': optional('FILE', 'The key of that certificate, PEM.'),
  'requestheader-username-headers': list(
    'HEADER',
    ['X-Remote-User'],
    'Headers that name the user: the first is written, all are stripped.',
  ),
  'requestheader-group-headers': list('HEADER', ['X-Remote-Group'], 'The same for groups.'),
  'requestheader-extra-headers-prefix': list(
    'PREFIX',
    ['X-Remote-Extra-'],
    'The same for extra attributes, by prefix.',
  ),
  'requestheader-uid-headers': list('HEADER', [], 'The same for the uid.'),
};

const watching = {
  'peer-discovery-token-file': optional(
    'FILE',
    'Bearer token for our own discovery and probes where there is no front-proxy certificate.',
  ),
  'peer-discovery-interval': duration('10s', "How often a peer's discovery is asked for, with 20 % jitter."),
  'peer-discovery-timeout': duration('5s', 'Longest one fetch of discovery may take.'),
  'peer-probe-interval': duration('2s', "How often a peer's /readyz is asked for."),
  'peer-probe-timeout': duration('1s', 'Longest one probe may take.'),
  'peer-failure-threshold': int('N', '3', [1, 1000], 'Failed probes in a row that make a peer not ready.'),
  'peer-hold': duration('5m', "How long an unreachable peer's document is kept, marked Stale.", '0s'),
};

const forwarding = {
  'peer-connect-timeout': duration('2s', 'Longest a connection to a peer may take, TCP and TLS together.'),
  // One source address has no more ports than that towards one peer.
  'peer-max-connections': int(
    'N',
    '256',
    [1, 65_535],
    'Connections per peer and pool, upgrades not counted.',
  ),
  'request-timeout': duration(
    '60s',
    "Longest wait for a peer's response headers, for requests that are not long-running.",
  ),
  'unserved-resource-status': oneOf(
    ['503', '404'],
    '503',
    'Answer where no peer serves a resource: 503 always, or 404 when every peer is ready, fresh and without it.',
  ),
};

const leaving = {
  'shutdown-delay-duration': duration('0s', 'How long we still serve after /readyz has begun to fail.', '0s'),
  'shutdown-timeout': duration('30s', 'Longest wait for requests in flight, after that delay.', '0s'),
};

const operations = {
  'ops-bind-address': text('ADDRESS', '127.0.0.1', 'Address the ops listener binds; it speaks plain HTTP.'),
  'ops-port': int('PORT', '8444', PORTS, 'Port of the ops listener; 0 takes any free one.'),
  'log-level': oneOf(['debug', 'info', 'warn', 'error'], 'info', 'Least severe level that is logged.'),
  'log-format': oneOf(['json', 'text'], 'json', 'Shape of log lines.'),
  'access-log': oneOf(
    ['none', 'errors', 'all'],
    'errors',
    'Requests that are logged; errors are 5xx, retried and slow ones.',
  ),
};

/** Every flag under its heading, in the order in which help shows them. */
export const SECTIONS = {
  'Client listener': clientListener,
  Peers: peers,
  'Traffic distribution': traffic,
  'Identity towards peers': identity,
  'Watching peers': watching,
  Forwarding: forwarding,
  Leaving: leaving,
  'Operations and logs': operations,
} as const satisfies Readonly<Record<string, FlagTable>>;

/** Every flag of `serve` by its name, without the dashes. */
export const FLAGS = {
  ...clientListener,
  ...peers,
  ...traffic,
  ...identity,
  ...watching,
  ...forwarding,
  ...leaving,
  ...operations,
} as const satisfies FlagTable;
