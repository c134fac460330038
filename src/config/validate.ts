// Command line -> Config, or every problem at once in the user's words. The one maker of a Config; it
// touches no disk itself (files come through a FileReader) and never ends the process.
import { parseHost } from './address.ts';
import type { Bind, Config, ConfigResult, FileReader, FileResult, KeyPair } from './config.ts';
import { FLAGS } from './flags.ts';
import { parseFlags } from './parse.ts';
import { readPeerSources } from './peer-sources.ts';
import { readRequestHeaders } from './request-headers.ts';
import { readTraffic } from './traffic.ts';
import type { FlagValues } from './value.ts';

type Values = FlagValues<typeof FLAGS>;
type Complain = (problem: string) => void;

/**
 * Reads `argv` (what follows `uvip serve`) and the files it points at. Never throws for what a user
 * wrote: problems are whole lines that begin with the flag they are about, in a stable order.
 */
export function validate(argv: readonly string[], files: FileReader): ConfigResult {
  const { values, problems } = parseFlags(argv, FLAGS);
  const complain: Complain = (problem) => problems.push(problem);

  const listen = readBind(values, ['bind-address', 'secure-port'], complain);
  const tls = readPair(values, LISTENER_PAIR, { files, complain, required: true });
  const clientCa = readClientCa(values, files, complain);
  const ops = readBind(values, ['ops-bind-address', 'ops-port'], complain);
  const sources = readPeerSources(values, files, complain);
  const traffic = readTraffic(values, complain);
  const frontProxy = readPair(values, FRONT_PROXY_PAIR, { files, complain, required: false });
  const requestHeaders = readRequestHeaders(values, complain);
  const tokenFile = values['peer-discovery-token-file'];
  const token = readFile('peer-discovery-token-file', tokenFile, { read: files.token, complain });

  if (problems.length > 0 || !listen || !tls || !ops) return { ok: false, problems };
  const config = {
    listen: { ...listen, tls },
    ops,
    ...(clientCa && { clientCa }),
    discoveryAuthorization: values['discovery-authorization'],
    goawayChance: values['goaway-chance'],
    ...sources,
    ...traffic,
    ...(frontProxy && { frontProxy }),
    requestHeaders,
    discovery: {
      intervalMs: values['peer-discovery-interval'],
      timeoutMs: values['peer-discovery-timeout'],
      ...(token !== undefined && tokenFile !== undefined && { token, tokenFile }),
    },
    probe: {
      intervalMs: values['peer-probe-interval'],
      timeoutMs: values['peer-probe-timeout'],
      failureThreshold: values['peer-failure-threshold'],
    },
    holdMs: values['peer-hold'],
    connectTimeoutMs: values['peer-connect-timeout'],
    maxConnections: values['peer-max-connections'],
    requestTimeoutMs: values['request-timeout'],
    maxHeaderBytes: values['max-header-bytes'],
    unservedResourceStatus: values['unserved-resource-status'] === '404' ? 404 : 503,
    shutdown: { delayMs: values['shutdown-delay-duration'], timeoutMs: values['shutdown-timeout'] },
    log: { level: values['log-level'], format: values['log-format'], access: values['access-log'] },
  } satisfies Omit<Config, symbol>;
  return { ok: true, config: deepFreeze(config) as Config };
}

function readBind(
  values: Values,
  [address, port]: readonly ['bind-address', 'secure-port'] | readonly ['ops-bind-address', 'ops-port'],
  complain: Complain,
): Bind | undefined {
  const host = parseHost(values[address]);
  if (host !== undefined) return { host, port: values[port] };
  complain(`--${address} ${values[address]}: not an address`);
  return undefined;
}

const LISTENER_PAIR = ['tls-cert-file', 'tls-private-key-file'] as const;
const FRONT_PROXY_PAIR = ['proxy-client-cert-file', 'proxy-client-key-file'] as const;

function readPair(
  values: Values,
  [certFlag, keyFlag]: typeof LISTENER_PAIR | typeof FRONT_PROXY_PAIR,
  { files, complain, required }: { files: FileReader; complain: Complain; required: boolean },
): KeyPair | undefined {
  const certFile = values[certFlag];
  const keyFile = values[keyFlag];
  complainOfHalves([certFlag, certFile], [keyFlag, keyFile], { complain, required });
  const cert = readFile(certFlag, certFile, { read: files.certificates, complain });
  const key = readFile(keyFlag, keyFile, { read: files.privateKey, complain });
  if (certFile === undefined || keyFile === undefined || cert === undefined || key === undefined) {
    return undefined;
  }
  if (!files.belongTogether(cert, key)) {
    complain(`--${keyFlag}: the key in ${keyFile} is not for the certificate in ${certFile}`);
  }
  return { certFile, keyFile, cert, key };
}

function readClientCa(values: Values, files: FileReader, complain: Complain): Config['clientCa'] {
  const file = values['client-ca-file'];
  const pem = readFile('client-ca-file', file, { read: files.certificates, complain });
  // Half a pair has its own problem.
  if (file !== undefined && FRONT_PROXY_PAIR.every((flag) => values[flag] === undefined)) {
    const pair = FRONT_PROXY_PAIR.map((flag) => `--${flag}`).join(' and ');
    complain(`--client-ca-file: needs ${pair}, to vouch for callers towards the peers`);
  }
  return file === undefined || pem === undefined ? undefined : { file, pem };
}

type Half = readonly [flag: string, file: string | undefined];

function complainOfHalves(a: Half, b: Half, how: { complain: Complain; required: boolean }): void {
  for (const [[flag, file], [other, otherFile]] of [
    [a, b],
    [b, a],
  ] as const) {
    if (file !== undefined) continue;
    if (otherFile !== undefined) how.complain(`--${other}: given without --${flag}`);
    else if (how.required) how.complain(`--${flag}: required`);
  }
}

function readFile(
  flag: string,
  file: string | undefined,
  { read, complain }: { read: (file: string) => FileResult; complain: Complain },
): string | undefined {
  if (file === undefined) return undefined;
  const result = read(file);
  if (result.ok) return result.text;
  complain(`--${flag}: ${result.problem}`);
  return undefined;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
