// What the servers and controllers of a real cluster would fill into an object, for the few kinds where everyday
// commands wait for it. Pure: returns a new object. Never validates (registry.ts does).

import { type KubeObject, isRecord, path, timestamp } from './objects.ts';

type Default = (object: KubeObject) => KubeObject;

const DEFAULTS = new Map<string, Default>([
  ['/namespaces', namespace],
  ['/pods', pod],
  ['/secrets', secret],
  ['/services', service],
  ['apps/deployments', workload],
  ['apps/replicasets', workload],
  ['apps/statefulsets', workload],
  ['apiextensions.k8s.io/customresourcedefinitions', customResourceDefinition],
]);

/** The object as the store shall keep it. */
export function withDefaults(storage: string, object: KubeObject): KubeObject {
  return DEFAULTS.get(storage)?.(object) ?? object;
}

function namespace(object: KubeObject): KubeObject {
  const phase = object.metadata.deletionTimestamp === undefined ? 'Active' : 'Terminating';
  const labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name };
  return {
    ...object,
    metadata: { ...object.metadata, labels },
    spec: { finalizers: ['kubernetes'], ...object.spec },
    status: { ...object.status, phase },
  };
}

/** As if a kubelet had started it at once. */
function pod(object: KubeObject): KubeObject {
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: object.metadata.creationTimestamp };
  return {
    ...object,
    spec: { restartPolicy: 'Always', ...object.spec },
    status: { phase: 'Running', conditions: [ready], ...object.status },
  };
}

function secret(object: KubeObject): KubeObject {
  const { stringData, ...rest } = object;
  const added = isRecord(stringData)
    ? Object.entries(stringData).map(([key, value]): [string, string] => [
        key,
        Buffer.from(String(value)).toString('base64'),
      ])
    : [];
  const data = { ...(rest['data'] as object | undefined), ...Object.fromEntries<string>(added) };
  return { ...rest, type: rest['type'] ?? 'Opaque', ...(Object.keys(data).length > 0 ? { data } : {}) };
}

function service(object: KubeObject): KubeObject {
  return {
    ...object,
    spec: { type: 'ClusterIP', sessionAffinity: 'None', ...object.spec },
    status: { loadBalancer: {}, ...object.status },
  };
}

/** As if its controller had brought up every replica at once. */
function workload(object: KubeObject): KubeObject {
  const replicas = typeof object.spec?.['replicas'] === 'number' ? object.spec['replicas'] : 1;
  const since = object.metadata.creationTimestamp;
  const conditions = ['Available', 'Progressing'].map((type) => ({
    type,
    status: 'True',
    lastUpdateTime: since,
    lastTransitionTime: since,
  }));
  const counts =
    replicas === 0
      ? {}
      : { replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas };
  return {
    ...object,
    spec: { ...object.spec, replicas },
    status: { observedGeneration: object.metadata.generation ?? 1, ...counts, conditions },
  };
}

function customResourceDefinition(object: KubeObject): KubeObject {
  const names = path(object, 'spec', 'names');
  if (!isRecord(names)) {
    return object;
  }
  const kind = String(names['kind']);
  const acceptedNames = { singular: kind.toLowerCase(), listKind: `${kind}List`, ...names };
  return {
    ...object,
    spec: {
      ...object.spec,
      names: acceptedNames,
      conversion: object.spec?.['conversion'] ?? { strategy: 'None' },
    },
    status: { conditions: [], storedVersions: [], ...object.status, acceptedNames },
  };
}

/** A CustomResourceDefinition's conditions once a server has taken it up. */
export function established(): Record<string, unknown>[] {
  const lastTransitionTime = timestamp();
  return [
    {
      type: 'NamesAccepted',
      status: 'True',
      reason: 'NoConflicts',
      message: 'no conflicts found',
      lastTransitionTime,
    },
    {
      type: 'Established',
      status: 'True',
      reason: 'InitialNamesAccepted',
      message: 'the initial names have been accepted',
      lastTransitionTime,
    },
  ];
}
