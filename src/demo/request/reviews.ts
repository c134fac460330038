// Questions of a caller about itself: who am I (kubectl auth whoami), may I (kubectl auth can-i). Answered at
// once, never stored.

import { type Answer, json } from './answer.ts';
import { mayDo } from './authorize.ts';
import { type Call, draftOf } from './call.ts';
import { isRecord, path } from '../objects/objects.ts';
import { groupVersion } from '../releases/resources.ts';

/** The answer to a review, or undefined when the resource is none. */
export function serveReview(call: Call): Answer | undefined {
  const { resource, verb } = call;
  if (verb !== 'create') {
    return undefined;
  }
  switch (`${resource.group}/${resource.resource}`) {
    case 'authentication.k8s.io/selfsubjectreviews':
      return review(call, { userInfo: userInfo(call) });
    case 'authorization.k8s.io/selfsubjectaccessreviews':
      return review(call, { allowed: mayCaller(call) });
    default:
      return undefined;
  }
}

function review(call: Call, status: Record<string, unknown>): Answer {
  const { spec } = draftOf(call);
  const { kind } = call.resource;
  const metadata = { creationTimestamp: null };
  return json(
    { kind, apiVersion: groupVersion(call.resource), metadata, ...(spec && { spec }), status },
    201,
  );
}

function userInfo({ user }: Call): Record<string, unknown> {
  const { name, groups, extra = {} } = user;
  return { username: name, groups, ...(Object.keys(extra).length > 0 ? { extra } : {}) };
}

function mayCaller(call: Call): boolean {
  const { spec } = draftOf(call);
  const [resource, other] = [spec?.['resourceAttributes'], spec?.['nonResourceAttributes']];
  const word = (attributes: unknown, key: string) => {
    const value = path(attributes, key);
    return typeof value === 'string' ? value : '';
  };
  if (isRecord(other)) {
    return mayDo(call.user, { kind: 'path', verb: word(other, 'verb'), path: word(other, 'path') });
  }
  return mayDo(call.user, {
    kind: 'resource',
    verb: word(resource, 'verb'),
    group: word(resource, 'group'),
    resource: word(resource, 'resource'),
    subresource: undefined,
    namespace: word(resource, 'namespace'),
    name: undefined,
  });
}
