// The valid configuration of `uvip serve`, as a type. It holds no logic and no defaults (flags.ts has
// them); only validate.ts can make a Config, because nobody else can name the brand.
import type { TrafficDistribution } from '../core/hints.ts';
import type { Peer } from '../core/peer.ts';

declare const validated: unique symbol;

/** A certificate chain with its key: PEM texts, and the files they came from (re-read when they change). */
export interface KeyPair {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

/** A peer named by flags or by a peer file: `ca` was read from `caFile`. */
export interface FlagPeer extends Peer {
  readonly caFile: string;
}

/** What flags say without NAME: for peers that do not say otherwise, whichever source they come from. */
export interface PeerDefaults {
  /** Absent where every peer has to have its own; `ca` was read from `caFile`. */
  readonly ca?: string;
  readonly caFile?: string;
  readonly serverName: string;
}

/** Where a listener binds; `host` carries no brackets, port 0 lets the system choose. */
export interface Bind {
  readonly host: string;
  readonly port: number;
}

/** Header names as given; the first of each is written, all of them are stripped. */
export interface RequestHeaders {
  readonly username: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefix: readonly string[];
  readonly uid: readonly string[];
}

/** Everything `serve` was told, checked and deeply frozen. Fields that end in Ms are milliseconds. */
export interface Config {
  readonly [validated]: true;
  readonly listen: Bind & { readonly tls: KeyPair };
  readonly ops: Bind;
  /** Who may identify by certificate; absent: certificates are not asked for. Implies `frontProxy`. */
  readonly clientCa?: { readonly file: string; readonly pem: string };
  readonly discoveryAuthorization: 'peer' | 'none';
  /** From 0 to 0.02. */
  readonly goawayChance: number;
  /** From --peer-address; names and addresses are unique. Empty only where there is a `peerConfig`. */
  readonly peers: readonly FlagPeer[];
  readonly peerDefaults: PeerDefaults;
  /** A file that held peers at start (readPeerFile of read-peer-file.ts); they are not in `peers`. */
  readonly peerConfig?: { readonly file: string };
  /** The Service to watch; implies `peerDefaults.ca`. */
  readonly peerEndpointSlices?: { readonly namespace: string; readonly service: string };
  /** Where this proxy runs. */
  readonly place: { readonly node?: string; readonly zone?: string };
  /** Absent: hints of EndpointSlices stand. Without `value` (none, or not known): hints are removed. */
  readonly trafficDistribution?: { readonly value?: TrafficDistribution };
  readonly frontProxy?: KeyPair;
  readonly requestHeaders: RequestHeaders;
  readonly discovery: {
    readonly intervalMs: number;
    readonly timeoutMs: number;
    readonly token?: string;
    readonly tokenFile?: string;
  };
  readonly probe: {
    readonly intervalMs: number;
    readonly timeoutMs: number;
    readonly failureThreshold: number;
  };
  readonly holdMs: number;
  readonly connectTimeoutMs: number;
  readonly maxConnections: number;
  readonly requestTimeoutMs: number;
  readonly maxHeaderBytes: number;
  readonly unservedResourceStatus: 503 | 404;
  readonly shutdown: { readonly delayMs: number; readonly timeoutMs: number };
  /** Whole lines in the user's words, to be logged once at start. */
  readonly warnings: readonly string[];
  readonly log: {
    readonly level: 'debug' | 'info' | 'warn' | 'error';
    readonly format: 'json' | 'text';
    readonly access: 'none' | 'errors' | 'all';
  };
}

/** A Config, or every problem found, each one line in the user's words. */
export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly string[] };

/** What a file held, or what is wrong with it in the user's words (the path is named, secrets never are). */
export type FileResult =
  { readonly ok: true; readonly text: string } | { readonly ok: false; readonly problem: string };

/** The documents in a file as plain data (an empty one is null), or what is wrong with it; the path is named. */
export type DocumentsResult =
  | { readonly ok: true; readonly documents: readonly unknown[] }
  | { readonly ok: false; readonly problem: string };

/** How validate.ts reads what flags point at. None of these throws for what a file holds or lacks. */
export interface FileReader {
  /** One or more PEM certificates: a chain with the leaf first, or a bundle of CAs. */
  readonly certificates: (file: string) => FileResult;
  /** One PEM private key, without a passphrase. */
  readonly privateKey: (file: string) => FileResult;
  /** One bearer token; the white space around it is removed. */
  readonly token: (file: string) => FileResult;
  /** YAML, one or more documents, or JSON. */
  readonly documents: (file: string) => DocumentsResult;
  /** Whether the first certificate of `cert` is for `key`; both are texts that the readers above returned. */
  readonly belongTogether: (cert: string, key: string) => boolean;
}
