// What a caller may do: administrators everything, everyone else discovery, health and questions about
// themselves. A stand-in for RBAC; who the caller is was found out before.

import type { User } from './authenticate.ts';
import { ApiError } from '../objects/errors.ts';
import { qualifiedName } from '../releases/resources.ts';

/** What is to be done, in the words of a SubjectAccessReview. */
export type Attributes =
  | {
      readonly kind: 'resource';
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource: string | undefined;
      readonly namespace: string;
      readonly name: string | undefined;
    }
  | { readonly kind: 'path'; readonly verb: string; readonly path: string };

const OPEN_TO_ALL = /^\/($|(api|apis|openapi|version|healthz|livez|readyz)($|\/))/;
const ABOUT_ONESELF = ['selfsubjectreviews', 'selfsubjectaccessreviews'];

/** Whether the caller may. */
export function mayDo(user: User, wanted: Attributes): boolean {
  if (user.groups.includes('system:masters')) {
    return true;
  }
  if (wanted.kind === 'path') {
    return OPEN_TO_ALL.test(wanted.path);
  }
  return user.groups.includes('system:authenticated') && ABOUT_ONESELF.includes(wanted.resource);
}

/** Throws ApiError 403 in kube-apiserver's words unless the caller may. */
export function authorize(user: User, wanted: Attributes): void {
  if (mayDo(user, wanted)) {
    return;
  }
  if (wanted.kind === 'path') {
    const message = `forbidden: User "${user.name}" cannot ${wanted.verb} path "${wanted.path}"`;
    throw new ApiError(403, 'Forbidden', message, {});
  }
  const { group, resource, subresource, namespace, name, verb } = wanted;
  const full = subresource === undefined ? resource : `${resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const what = name === undefined ? qualifiedName(wanted) : `${qualifiedName(wanted)} "${name}"`;
  throw new ApiError(
    403,
    'Forbidden',
    `${what} is forbidden: User "${user.name}" cannot ${verb} resource "${full}" in API group "${group}" ${where}`,
    { ...(name === undefined ? {} : { name }), ...(group === '' ? {} : { group }), kind: resource },
  );
}
