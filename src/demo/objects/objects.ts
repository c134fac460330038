// What an API object looks like to the simulated servers: JSON with metadata, and little more is known of it.
// Objects in the store are never changed in place; whoever changes one works on a copy.

/** ObjectMeta, as far as the servers themselves use it. */
interface ObjectMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  [key: string]: unknown;
}

/** Any API object. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  [key: string]: unknown;
}

/** What a client sends: the shape is right, nothing in it has been filled in. */
export interface Draft {
  apiVersion?: string;
  kind?: string;
  metadata?: Partial<ObjectMeta>;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown> | undefined;
  [key: string]: unknown;
}

/** Follows keys into a value; undefined as soon as one is missing. */
export function path(value: unknown, ...keys: string[]): unknown {
  return keys.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), value);
}

/** A JSON object: neither null nor an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The time as metav1.Time writes it: UTC, whole seconds. */
export function timestamp(at: Date = new Date()): string {
  return at.toISOString().replace(/\.\d+Z$/, 'Z');
}
