// Many reads and writes of types that only some servers have, and what came of them.

import { type Asking, h1, type Target } from './client.ts';

/** A type: its collection, and an object of it without a name; undefined where it is only read. */
export interface LoadType {
  readonly path: string;
  readonly object?: Readonly<Record<string, unknown>>;
}

/** Answers by what was done and its status: `read 200`, `write 201`; and one answer of each kind. */
export interface Outcome {
  readonly counts: Readonly<Record<string, number>>;
  readonly samples: Readonly<Record<string, string>>;
}

/** A request with a bearer token, JSON both ways. */
export function bearer(token: string, asking: Asking = {}): Asking {
  const type = asking.body === undefined ? [] : ['Content-Type', 'application/json'];
  const headers = ['Authorization', `Bearer ${token}`, 'Accept', 'application/json', ...type];
  return { ...asking, headers: [...headers, ...(asking.headers ?? [])] };
}

let run = 0;

/** Sends `count` requests, 20 at a time, over all types in turn, every other one a write where it can be. */
export async function load(
  target: Target,
  token: string,
  types: readonly LoadType[],
  count: number,
): Promise<Outcome> {
  const prefix = `load-${String(process.pid)}-${String(++run)}`;
  const counts: Record<string, number> = {};
  const samples: Record<string, string> = {};
  const one = async (i: number) => {
    const { path, object } = types[i % types.length]!;
    const write = object !== undefined && Math.floor(i / types.length) % 2 === 1;
    const body = JSON.stringify({ ...object, metadata: { name: `${prefix}-${i}` } });
    const answer = await h1(target, path, bearer(token, write ? { method: 'POST', body } : {}));
    const key = `${write ? 'write' : 'read'} ${answer.status}`;
    counts[key] = (counts[key] ?? 0) + 1;
    samples[key] ??= `${path}: ${answer.text.slice(0, 300)}`;
  };
  let next = 0;
  const lane = async () => {
    for (let i = next++; i < count; i = next++) await one(i);
  };
  await Promise.all(Array.from({ length: 20 }, lane));
  return { counts, samples };
}

/** How many answers were not 2xx. */
export function failuresIn({ counts }: Outcome): number {
  const failed = Object.entries(counts).filter(([key]) => !/ 2\d\d$/.test(key));
  return failed.reduce((sum, [, n]) => sum + n, 0);
}

const object = (apiVersion: string, kind: string, rest: object = { spec: {} }) => ({
  apiVersion,
  kind,
  ...rest,
});

/** Test bed S1: types that only one of a 1.36 and a 1.34 server has, in both directions. */
export const S1_TYPES: readonly LoadType[] = [
  {
    path: '/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations',
    object: object('storagemigration.k8s.io/v1beta1', 'StorageVersionMigration', {
      spec: { resource: { group: 'apps', resource: 'deployments' } },
    }),
  },
  {
    path: '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies',
    object: object('admissionregistration.k8s.io/v1', 'MutatingAdmissionPolicy'),
  },
  {
    path: '/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests',
    object: object('certificates.k8s.io/v1beta1', 'PodCertificateRequest'),
  },
  {
    path: '/apis/resource.k8s.io/v1beta2/devicetaintrules',
    object: object('resource.k8s.io/v1beta2', 'DeviceTaintRule'),
  },
  {
    path: '/apis/storage.k8s.io/v1alpha1/volumeattributesclasses',
    object: object('storage.k8s.io/v1alpha1', 'VolumeAttributesClass', { driverName: 'x' }),
  },
];

const CRON_SPEC = {
  schedule: '0 0 1 1 *',
  jobTemplate: {
    spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'none' }] } } },
  },
};

/** Test bed S2: types that only the one with its beta versions switched on serves. */
export const S2_TYPES: readonly LoadType[] = [
  {
    path: '/apis/batch/v1beta1/namespaces/default/cronjobs',
    object: object('batch/v1beta1', 'CronJob', { spec: CRON_SPEC }),
  },
  {
    path: '/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets',
    object: object('policy/v1beta1', 'PodDisruptionBudget', {
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'x' } } },
    }),
  },
  { path: '/apis/autoscaling/v2beta2/namespaces/default/horizontalpodautoscalers' },
  { path: '/apis/extensions/v1beta1/namespaces/default/ingresses' },
  { path: '/apis/discovery.k8s.io/v1beta1/namespaces/default/endpointslices' },
];
