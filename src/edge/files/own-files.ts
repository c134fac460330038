// Our own certificates, keys, client CA and token as they are now: read again when a file changes, kept as they were
// where what is there cannot be used (half written, gone, a pair that does not match). Peers' CAs are not among them.

import type { Config, FileReader, FileResult, KeyPair } from '../../config/config.ts';
import type { Log } from '../../state/ports.ts';
import { FileWatcher } from './watch-files.ts';

/** What changed; each is called with the new value in force. */
export interface OwnFileEvents {
  /** The client listener's pair or client CA. */
  listenerChanged(): void;
  frontProxyChanged(): void;
}

type Watched = Pick<Config, 'listen' | 'clientCa' | 'frontProxy' | 'discovery'>;

export class OwnFiles {
  readonly #files: FileReader;
  readonly #log: Pick<Log, 'info' | 'warn'>;
  readonly #watcher: FileWatcher;
  #events: OwnFileEvents | undefined;
  #listener: KeyPair;
  #clientCa: Config['clientCa'];
  #frontProxy: KeyPair | undefined;
  #token: string | undefined;
  readonly #tokenFile: string | undefined;

  constructor(config: Watched, files: FileReader, log: Pick<Log, 'info' | 'warn'>) {
    this.#files = files;
    this.#log = log;
    this.#listener = config.listen.tls;
    this.#clientCa = config.clientCa;
    this.#frontProxy = config.frontProxy;
    this.#token = config.discovery.token;
    this.#tokenFile = config.discovery.tokenFile;
    this.#watcher = new FileWatcher((changed) => {
      this.#reread(new Set(changed));
    });
  }

  get listener(): KeyPair {
    return this.#listener;
  }

  get clientCa(): string | undefined {
    return this.#clientCa?.pem;
  }

  get frontProxy(): KeyPair | undefined {
    return this.#frontProxy;
  }

  get token(): string | undefined {
    return this.#token;
  }

  start(events: OwnFileEvents): void {
    this.#events = events;
    const pairs = [this.#listener, this.#frontProxy].flatMap((p) => (p ? [p.certFile, p.keyFile] : []));
    const others = [this.#clientCa?.file, this.#tokenFile].filter((file) => file !== undefined);
    const all = [...pairs, ...others];
    this.#watcher.watch(all);
    this.#reread(new Set(all)); // what changed since the start read them
  }

  stop(): Promise<void> {
    return this.#watcher.stop();
  }

  #reread(changed: ReadonlySet<string>): void {
    const listener = this.#rereadPair(this.#listener, changed);
    const clientCa = this.#rereadClientCa(changed);
    if (listener !== this.#listener || clientCa !== this.#clientCa) {
      this.#listener = listener;
      this.#clientCa = clientCa;
      this.#events?.listenerChanged();
    }
    const frontProxy = this.#frontProxy && this.#rereadPair(this.#frontProxy, changed);
    if (frontProxy !== this.#frontProxy) {
      this.#frontProxy = frontProxy;
      this.#events?.frontProxyChanged();
    }
    if (this.#tokenFile !== undefined && changed.has(this.#tokenFile)) {
      this.#token = this.#use(this.#tokenFile, this.#files.token(this.#tokenFile), this.#token);
    }
  }

  #rereadPair(pair: KeyPair, changed: ReadonlySet<string>): KeyPair {
    const { certFile, keyFile } = pair;
    if (!changed.has(certFile) && !changed.has(keyFile)) return pair;
    const cert = this.#files.certificates(certFile);
    const key = this.#files.privateKey(keyFile);
    if (!cert.ok) return this.#keep(pair, certFile, cert.problem);
    if (!key.ok) return this.#keep(pair, keyFile, key.problem);
    if (cert.text === pair.cert && key.text === pair.key) return pair;
    if (!this.#files.belongTogether(cert.text, key.text)) {
      return this.#keep(pair, certFile, `the key in ${keyFile} is not for it`);
    }
    this.#log.info({ file: certFile }, 'a certificate has changed');
    return { certFile, keyFile, cert: cert.text, key: key.text };
  }

  #rereadClientCa(changed: ReadonlySet<string>): Config['clientCa'] {
    const last = this.#clientCa;
    if (last === undefined || !changed.has(last.file)) return last;
    const pem = this.#use(last.file, this.#files.certificates(last.file), last.pem);
    return pem === last.pem ? last : { file: last.file, pem };
  }

  #use<T extends string | undefined>(file: string, read: FileResult, last: T): string | T {
    return read.ok ? read.text : this.#keep(last, file, read.problem);
  }

  #keep<T>(last: T, file: string, reason: string): T {
    this.#log.warn({ file, reason }, 'cannot use a file, keeping what it held');
    return last;
  }
}
