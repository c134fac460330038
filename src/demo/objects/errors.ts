// Errors of a simulated API server: metav1.Status with the messages and reasons of k8s.io/apimachinery's
// pkg/api/errors. Knows nothing of how they are sent.

import { qualifiedName } from '../releases/resources.ts';

/** What a message needs to know of a resource. */
export interface Named {
  readonly group: string;
  readonly resource: string;
}

/** An answer that is not a success. Anything else that is thrown becomes a 500. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: number, reason: string, message: string, details?: Record<string, unknown>) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  /** The metav1.Status that a client reads. */
  status(): Record<string, unknown> {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/** 404 of an object: it names the object, so that clients can tell it from a missing type. */
export function objectNotFound(resource: Named, name: string): ApiError {
  return new ApiError(
    404,
    'NotFound',
    `${qualifiedName(resource)} "${name}" not found`,
    about(resource, name),
  );
}

/** 404 of a type: `details` is empty. */
export function typeNotFound(): ApiError {
  return new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});
}

/** 409 of a name that is taken. */
export function alreadyExists(resource: Named, name: string): ApiError {
  const message = `${qualifiedName(resource)} "${name}" already exists`;
  return new ApiError(409, 'AlreadyExists', message, about(resource, name));
}

/** 409 of a resourceVersion or precondition that no longer holds. */
export function conflict(resource: Named, name: string, why?: string): ApiError {
  const cause =
    why ?? 'the object has been modified; please apply your changes to the latest version and try again';
  const message = `Operation cannot be fulfilled on ${qualifiedName(resource)} "${name}": ${cause}`;
  return new ApiError(409, 'Conflict', message, about(resource, name));
}

/** 422 of an object whose `field` is wrong. */
export function invalid(
  resource: Named & { kind: string },
  name: string,
  field: string,
  why: string,
): ApiError {
  const message = `${resource.kind}${resource.group === '' ? '' : `.${resource.group}`} "${name}" is invalid: ${field}: ${why}`;
  const causes = [{ reason: 'FieldValueInvalid', message: why, field }];
  return new ApiError(422, 'Invalid', message, { name, group: resource.group, kind: resource.kind, causes });
}

/** 400. */
export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

/** 405. */
export function methodNotAllowed(): ApiError {
  const message = 'the server does not allow this method on the requested resource';
  return new ApiError(405, 'MethodNotAllowed', message, {});
}

/** 406; `accepted` are the media types that would do. */
export function notAcceptable(accepted: readonly string[]): ApiError {
  const message = `only the following media types are accepted: ${accepted.join(', ')}`;
  return new ApiError(406, 'NotAcceptable', message);
}

/** 410: the log of changes no longer reaches back that far. */
export function expired(message: string): ApiError {
  return new ApiError(410, 'Expired', message);
}

/** 415. */
export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new ApiError(415, 'UnsupportedMediaType', message);
}

function about({ group, resource }: Named, name: string): Record<string, unknown> {
  return { name, ...(group === '' ? {} : { group }), kind: resource };
}
