// Subresources: status, scale, eviction, log, the streams of pods, and those that are another way to update the
// whole object.

import { type Answer, json } from './answer.ts';
import { asDraft, type Call, draftOf, parse, placeOf, viewOf } from './call.ts';
import { badRequest, methodNotAllowed, typeNotFound } from '../objects/errors.ts';
import { type KubeObject, path } from '../objects/objects.ts';
import { applyPatch } from '../objects/patch.ts';
import { type PodService, processService } from './pod-service.ts';
import { inVersion, presentOne } from './present.ts';
import { type Place, read, remove, update } from '../objects/registry.ts';
import { patchStored, success } from './rest.ts';

const OWN_WAYS = new Map<string, (call: Call, name: string) => Answer>([
  ['scale', scale],
  ['eviction', evict],
  ['log', log],
  ['exec', (call, name) => upgrade(call, name, processService('exec', call.query))],
  ['attach', (call, name) => upgrade(call, name, processService('attach', call.query))],
  ['portforward', (call, name) => upgrade(call, name, { kind: 'portforward' })],
]);

/** Answers a request for a subresource; throws ApiError. */
export function serveSubresource(call: Call): Answer {
  const { resource, target, verb } = call;
  const subresource = resource.subresources.find(({ name }) => name === target.subresource);
  if (subresource === undefined || target.name === undefined) {
    throw typeNotFound();
  }
  if (!subresource.verbs.includes(verb)) {
    throw methodNotAllowed();
  }
  return (OWN_WAYS.get(subresource.name) ?? wholeObject)(call, target.name);
}

function wholeObject(call: Call, name: string): Answer {
  const place = placeOf(call);
  const part = call.target.subresource === 'status' ? 'status' : 'main';
  const object =
    call.verb === 'get'
      ? read(place, name)
      : call.verb === 'patch'
        ? patchStored(call, place, name, part)
        : update(place, name, draftOf(call), part);
  return json(presentOne(viewOf(call), object));
}

function scale(call: Call, name: string): Answer {
  const place = placeOf(call);
  const object = read(place, name);
  if (call.verb === 'get') {
    return json(scaleOf(object));
  }
  const wanted =
    call.verb === 'patch'
      ? asDraft(applyPatch(call.contentType, scaleOf(object), parse(call.body)))
      : draftOf(call);
  return json(
    scaleOf(
      setReplicas(place, object, Number(wanted.spec?.['replicas'] ?? 0), wanted.metadata?.resourceVersion),
    ),
  );
}

function setReplicas(
  place: Place,
  object: KubeObject,
  replicas: number,
  resourceVersion?: string,
): KubeObject {
  const current = inVersion(place.resource, object);
  const metadata = {
    ...current.metadata,
    resourceVersion: resourceVersion ?? current.metadata.resourceVersion,
  };
  return update(place, metadata.name, { ...current, metadata, spec: { ...current.spec, replicas } });
}

function scaleOf({ metadata, spec, status }: KubeObject): Record<string, unknown> {
  const labels = path(spec, 'selector', 'matchLabels') ?? {};
  const selector = Object.entries(labels).map(([key, value]) => `${key}=${String(value)}`);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: spec?.['replicas'] ?? 0 },
    status: { replicas: status?.['replicas'] ?? 0, selector: selector.join(',') },
  };
}

function evict(call: Call, name: string): Answer {
  const { metadata } = remove(placeOf(call), name, path(parse(call.body), 'deleteOptions'));
  return { ...success(call, name, metadata.uid), status: 201 };
}

/** One line, and with `?follow=true` one more every second, for ever. */
function log(call: Call, name: string): Answer {
  read(placeOf(call), name);
  let lines = 0;
  const next = () => `${new Date().toISOString()} ${name}: line ${++lines}\n`;
  const follow = ['true', '1'].includes(call.query.get('follow') ?? '');
  return {
    kind: 'stream',
    contentType: 'text/plain',
    start: (sink) => {
      sink.write(next());
      if (!follow) {
        sink.end();
        return () => undefined;
      }
      const timer = setInterval(() => {
        sink.write(next());
      }, 1000);
      return () => {
        clearInterval(timer);
      };
    },
  };
}

function upgrade(call: Call, name: string, service: PodService): Answer {
  read(placeOf(call), name);
  if (service.kind === 'exec' && service.command.length === 0) {
    throw badRequest('you must specify at least 1 command for the container');
  }
  return { kind: 'upgrade', service };
}
