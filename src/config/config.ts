// The valid configuration of `uvip serve`, as a type. It holds no logic and no defaults (flags.ts has
// them); only validate.ts can make a Config, because nobody else can name the brand.
import type { Peer } from '../core/peer.ts';

declare const validated: unique symbol;

/** A certificate chain with its key: PEM texts, and the files they came from (re-read when they change). */
export interface KeyPair {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

/** A peer named by flags: `ca` was read from `caFile`. */
export interface FlagPeer extends Peer {
  readonly caFile: string;
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
  /** At least one; names and addresses are unique. */
  readonly peers: readonly FlagPeer[];
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

/** How validate.ts reads what flags point at. None of these throws for what a file holds or lacks. */
export interface FileReader {
  /** One or more PEM certificates: a chain with the leaf first, or a bundle of CAs. */
  readonly certificates: (file: string) => FileResult;
  /** One PEM private key, without a passphrase. */
  readonly privateKey: (file: string) => FileResult;
  /** One bearer token; the white space around it is removed. */
  readonly token: (file: string) => FileResult;
  /** Whether the first certificate of `cert` is for `key`; both are texts that the readers above returned. */
  readonly belongTogether: (cert: string, key: string) => boolean;
}
