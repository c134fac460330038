// The custom resources of one server: it notices a CustomResourceDefinition some time after it was written, each
// server at its own pace, as real ones do. The first to notice marks it Established. Serves nothing itself.

import { established } from './defaults.ts';
import { isRecord, type KubeObject, path } from './objects.ts';
import { ALL_VERBS, type Resource, subresource } from '../releases/resources.ts';
import type { Store } from './store.ts';

const CRDS = 'apiextensions.k8s.io/customresourcedefinitions';

/** Watches definitions between `start` and `stop`. */
export class CustomResources {
  readonly #store: Store;
  readonly #delay: number;
  readonly #onChange: () => void;
  readonly #timers = new Set<NodeJS.Timeout>();
  #unsubscribe: () => void = () => undefined;
  #resources: readonly Resource[] = [];

  /** `delay`: milliseconds until a change is noticed; `onChange` is called after each that was. */
  constructor(store: Store, delay: number, onChange: () => void) {
    this.#store = store;
    this.#delay = delay;
    this.#onChange = onChange;
  }

  /** What the definitions noticed so far ask for. */
  get resources(): readonly Resource[] {
    return this.#resources;
  }

  /** Reads all there are, at once, and from then on notices changes. */
  start(): void {
    this.#notice();
    this.#unsubscribe = this.#store.subscribe(({ storage }) => {
      if (storage === CRDS) {
        this.#noticeLater();
      }
    });
  }

  stop(): void {
    this.#unsubscribe();
    this.#timers.forEach(clearTimeout);
    this.#timers.clear();
  }

  #noticeLater(): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#notice();
    }, this.#delay);
    this.#timers.add(timer);
  }

  #notice(): void {
    const definitions = this.#store.list(CRDS);
    this.#resources = definitions.flatMap(resourcesOf);
    this.#onChange();
    for (const definition of definitions.filter((each) => !isEstablished(each))) {
      establish(this.#store, definition);
    }
  }
}

function isEstablished({ status }: KubeObject): boolean {
  const conditions = status?.['conditions'];
  return Array.isArray(conditions) && conditions.some((each) => path(each, 'type') === 'Established');
}

function establish(store: Store, definition: KubeObject): void {
  const storedVersions = versionsOf(definition)
    .filter(({ storage }) => storage)
    .map(({ name }) => name);
  const status = { ...definition.status, conditions: established(), storedVersions };
  store.put(CRDS, { ...definition, status });
}

interface DefinedVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly subresources: readonly string[];
}

/** v1 has a list of versions; v1beta1 may name a single one instead, with the rest beside it. */
function versionsOf({ spec = {} }: KubeObject): DefinedVersion[] {
  const listed = Array.isArray(spec['versions'])
    ? spec['versions'].filter(isRecord)
    : [{ name: spec['version'], served: true, storage: true }];
  return listed.map((each) => ({
    name: String(each['name']),
    served: each['served'] === true,
    storage: each['storage'] === true,
    subresources: Object.keys(each['subresources'] ?? spec['subresources'] ?? {}).sort(),
  }));
}

function resourcesOf(definition: KubeObject): Resource[] {
  const [group, names] = [String(definition.spec?.['group']), path(definition, 'spec', 'names')];
  const [plural, kind] = [String(path(names, 'plural')), String(path(names, 'kind'))];
  return versionsOf(definition)
    .filter(({ served }) => served)
    .map(({ name, subresources }) => ({
      group,
      version: name,
      resource: plural,
      singular: String(path(names, 'singular')),
      kind,
      listKind: String(path(names, 'listKind')),
      namespaced: definition.spec?.['scope'] === 'Namespaced',
      shortNames: strings(path(names, 'shortNames')),
      categories: strings(path(names, 'categories')),
      verbs: ALL_VERBS,
      subresources: subresources.map((each) => subresource(each, kind)),
      storage: `${group}/${plural}`,
      custom: true,
    }));
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
