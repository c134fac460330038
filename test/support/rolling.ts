// A cluster in use while its servers are restarted: readers of types that only some servers have, kubectl, a writer
// and a watcher that resumes; and what came of every request. For the test bed of real API servers.

import { execFile } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { h1, streamH1, type Target } from './client.ts';
import type { Kubectl } from './kubectl.ts';
import { bearer } from './load.ts';
import { ROOT } from './uvip-process.ts';

const FOLDER = path.resolve(ROOT, process.env['UVIP_TESTBED'] ?? '../shared/testbed');

/** start.sh with another version than before: `1.36`, or `1.36:1.34` for one that emulates. */
export async function startAs(dir: string, name: string, version: string): Promise<void> {
  await promisify(execFile)(path.join(FOLDER, 'start.sh'), [dir, name, version]);
}

/** A request that did not get what it asked for. Times are performance.now()'s. */
export interface Bad {
  readonly what: string;
  readonly status: number;
  readonly text: string;
  readonly retryAfter: boolean;
  readonly began: number;
  readonly ended: number;
}

export const SVM = '/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations';
export const VAC = '/apis/storage.k8s.io/v1alpha1/volumeattributesclasses';
const MAPS = '/api/v1/namespaces/default/configmaps';
const ALWAYS = ['/apis/apps/v1/deployments', '/apis', '/api/v1', MAPS + '?limit=5'];
const PAUSE_MS = 10;
// Each kubectl takes a tenth of a second of a processor, which the servers need more.
const KUBECTL_PAUSE_MS = 100;

interface Watched {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}
interface List {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly labels?: Record<string, string> };
  }[];
}

/** Begins with `start`, runs until `finish`; which types are read besides the common ones is `wanted`'s to say, at any time. */
export class ClusterLoad {
  readonly bad: Bad[] = [];
  readonly wanted = new Set<string>();
  /** Answers with 2xx. */
  good = 0;
  /** kubectl runs that went well. */
  kubectlRuns = 0;
  /** How many watches there were, one after the other. */
  watches = 0;
  /** How those watches ended that were answered, but for the last. */
  readonly ends = { whole: 0, broken: 0 };
  /** Writes that were answered 201, by number. */
  readonly #written = new Set<string>();
  /** Watch events by object name: how many said that it was added. */
  readonly #added = new Map<string, number>();
  readonly #target: Target;
  readonly #token: string;
  readonly #kubectl: Kubectl | undefined;
  readonly #label: string;
  #running = true;
  #watching = true;
  #abort: () => void = () => undefined;
  readonly #lanes: Promise<void>[];
  readonly #watcher: Promise<void>;

  /** Lists, so that the watcher knows where to begin; then begins everything. */
  static async start(
    target: Target,
    token: string,
    { kubectl, label }: { kubectl: Kubectl | undefined; label: string },
  ): Promise<ClusterLoad> {
    const { metadata } = (await h1(target, MAPS, bearer(token))).json as List;
    return new ClusterLoad(target, token, { kubectl, label, from: metadata.resourceVersion });
  }

  private constructor(
    target: Target,
    token: string,
    { kubectl, label, from }: { kubectl: Kubectl | undefined; label: string; from: string },
  ) {
    this.#target = target;
    this.#token = token;
    this.#kubectl = kubectl;
    this.#label = label;
    this.#watcher = this.#watch(from);
    this.#lanes = [this.#read(), this.#read(), this.#write(), this.#useKubectl()];
  }

  /** Stops, waits for the watcher to have seen all that is there, compares, and takes away what it wrote. */
  async finish(withinMs: number) {
    this.#running = false;
    await Promise.all(this.#lanes);
    const own = `${MAPS}?labelSelector=run=${this.#label}`;
    const { items } = (await h1(this.#target, own, bearer(this.#token))).json as List;
    const deadline = performance.now() + withinMs;
    while (!items.every(({ metadata }) => this.#added.has(metadata.name)) && performance.now() < deadline)
      await sleep(PAUSE_MS);
    this.#watching = false;
    this.#abort();
    await this.#watcher;
    // The next load's kubectl would page through them.
    await h1(this.#target, own, bearer(this.#token, { method: 'DELETE' }));
    const numbers = items.map(({ metadata }) => metadata.labels!['number']!);
    const stored = new Set(numbers);
    return {
      written: this.#written.size,
      /** Answered 201 and not there. */
      lost: [...this.#written].filter((number) => !stored.has(number)),
      /** There more than once. */
      twice: numbers.filter((number, i) => numbers.indexOf(number) !== i),
      /** There though the writer was told that it had failed: may have been processed. */
      unconfirmed: numbers.filter((number) => !this.#written.has(number)),
      missed: items.map(({ metadata }) => metadata.name).filter((name) => !this.#added.has(name)),
      doubled: [...this.#added].filter(([, times]) => times > 1).map(([name]) => name),
    };
  }

  async #ask(method: string, at: string, json?: object) {
    const began = performance.now();
    const report = (status: number, text: string, retryAfter: boolean) => {
      const ended = performance.now();
      this.bad.push({ what: `${method} ${at}`, status, text: text.slice(0, 300), retryAfter, began, ended });
    };
    try {
      const body = json && { body: JSON.stringify(json) };
      const answer = await h1(this.#target, at, bearer(this.#token, { method, ...body }));
      if (answer.status < 300) this.good++;
      else report(answer.status, answer.text, answer.values('retry-after').length > 0);
      return answer.status;
    } catch (error) {
      report(0, String(error), false);
      return 0;
    }
  }

  async #read(): Promise<void> {
    while (this.#running) {
      for (const at of [...this.wanted, ...ALWAYS])
        if (this.wanted.has(at) || ALWAYS.includes(at)) await this.#ask('GET', at);
      await sleep(PAUSE_MS);
    }
  }

  /** The server makes the names: a write that is done twice makes two objects with one number. */
  async #write(): Promise<void> {
    for (let number = 0; this.#running; number++) {
      const labels = { run: this.#label, number: String(number) };
      const metadata = { generateName: `${this.#label}-`, labels };
      const status = await this.#ask('POST', MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
      if (status === 201) this.#written.add(String(number));
      await sleep(PAUSE_MS);
    }
  }

  async #useKubectl(): Promise<void> {
    const kubectl = this.#kubectl;
    while (this.#running && kubectl !== undefined) {
      const svm = this.wanted.has(SVM) ? ['storageversionmigrations.v1beta1.storagemigration.k8s.io'] : [];
      for (const type of [...svm, 'configmaps', 'deployments.v1.apps']) {
        const began = performance.now();
        const { code, stderr } = await kubectl.run(['get', type, '-o', 'name', '--chunk-size=20']);
        const ended = performance.now();
        if (code === 0) this.kubectlRuns++;
        else
          this.bad.push({
            what: `kubectl get ${type}`,
            status: code,
            text: stderr,
            retryAfter: false,
            began,
            ended,
          });
        await sleep(KUBECTL_PAUSE_MS);
      }
    }
  }

  /** Watches on and on from where it got to, as an informer does. */
  async #watch(begin: string): Promise<void> {
    let from = begin;
    while (this.#watching) {
      const query = `watch=1&allowWatchBookmarks=true&labelSelector=run=${this.#label}&resourceVersion=${from}`;
      const began = performance.now();
      const report = (status: number, text: string, retryAfter: boolean) =>
        this.bad.push({ what: 'watch', status, text, retryAfter, began, ended: performance.now() });
      this.watches++;
      try {
        const stream = await streamH1(this.#target, `${MAPS}?${query}`, bearer(this.#token));
        this.#abort = () => {
          stream.abort();
        };
        if (isOver(() => !this.#watching)) stream.abort();
        let over = false;
        void stream.end.then((how) => {
          over = true;
          if (this.#watching && stream.status === 200) this.ends[how]++;
        });
        let read = 0;
        const take = () => {
          const text = stream.soFar();
          for (let end = text.indexOf('\n', read); end >= 0; end = text.indexOf('\n', read)) {
            const event = JSON.parse(text.slice(read, end)) as { type: string; object: Watched };
            read = end + 1;
            if (event.type === 'ERROR') report(410, JSON.stringify(event.object), false);
            else from = event.object.metadata.resourceVersion;
            const { name } = event.object.metadata;
            if (event.type === 'ADDED') this.#added.set(name, (this.#added.get(name) ?? 0) + 1);
          }
        };
        if (stream.status !== 200) {
          await stream.end;
          report(stream.status, stream.soFar(), stream.values('retry-after').length > 0);
          await sleep(PAUSE_MS);
          continue;
        }
        while (!isOver(() => over)) {
          take();
          await sleep(PAUSE_MS);
        }
        take();
      } catch (error) {
        report(0, String(error), false);
        await sleep(PAUSE_MS);
      }
    }
  }
}

/** A call, so that it is read again after an await. */
const isOver = (read: () => boolean): boolean => read();
