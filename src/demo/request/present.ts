// Stored objects -> what a client is shown: in the version it asked for, whole, as a Table for kubectl, or as
// metadata only.

import type { ObjectForm } from './accept.ts';
import { type KubeObject, timestamp } from '../objects/objects.ts';
import { groupVersion, type Resource } from '../releases/resources.ts';

/** The rest of a list's metadata; `resourceVersion` is the store's at the time of reading. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** How much of each object the rows of a Table carry (`?includeObject=`). */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

/** How a client wants to see objects. */
export interface View {
  readonly resource: Resource;
  readonly form: ObjectForm;
  readonly include: IncludeObject;
}

/** One object, as the body of a response or the object of a watch event. */
export function presentOne(view: View, object: KubeObject): Record<string, unknown> {
  switch (view.form) {
    case 'table':
      return table(view, [object], { resourceVersion: object.metadata.resourceVersion });
    case 'metadata':
      return metadataOnly(object);
    case 'object':
      return inVersion(view.resource, object);
  }
}

/** A list of objects. */
export function presentList(
  view: View,
  objects: readonly KubeObject[],
  metadata: ListMeta,
): Record<string, unknown> {
  switch (view.form) {
    case 'table':
      return table(view, objects, metadata);
    case 'metadata':
      return {
        kind: 'PartialObjectMetadataList',
        apiVersion: 'meta.k8s.io/v1',
        metadata,
        items: objects.map(metadataOnly),
      };
    case 'object':
      return {
        kind: view.resource.listKind,
        apiVersion: groupVersion(view.resource),
        metadata,
        items: objects.map((object) => inVersion(view.resource, object)),
      };
  }
}

/** The conversion of this simulation: every version of a kind looks the same. */
export function inVersion(resource: Resource, object: KubeObject): KubeObject {
  return { ...object, kind: resource.kind, apiVersion: groupVersion(resource) };
}

function metadataOnly({ metadata }: KubeObject): Record<string, unknown> {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
}

const COLUMNS = [
  {
    name: 'Name',
    type: 'string',
    format: 'name',
    description: 'Name must be unique within a namespace.',
    priority: 0,
  },
  { name: 'Age', type: 'string', format: '', description: 'Time since its creation.', priority: 0 },
];

function table(view: View, objects: readonly KubeObject[], metadata: ListMeta): Record<string, unknown> {
  const rows = objects.map((object) => ({
    cells: [object.metadata.name, age(object.metadata.creationTimestamp)],
    object: rowObject(view, object),
  }));
  return { kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata, columnDefinitions: COLUMNS, rows };
}

function rowObject(view: View, object: KubeObject): unknown {
  if (view.include === 'None') {
    return null;
  }
  return view.include === 'Object' ? inVersion(view.resource, object) : metadataOnly(object);
}

/** Time since then, as kubectl shows it (k8s.io/apimachinery's duration.HumanDuration, without its halves). */
function age(since: string): string {
  const seconds = Math.max(0, (Date.parse(timestamp()) - Date.parse(since)) / 1000);
  const [minutes, hours, days] = [60, 3600, 86_400].map((unit) => Math.floor(seconds / unit)) as [
    number,
    number,
    number,
  ];
  if (seconds < 120) {
    return `${seconds}s`;
  }
  if (minutes < 180) {
    return `${minutes}m`;
  }
  return hours < 48 ? `${hours}h` : `${days}d`;
}
