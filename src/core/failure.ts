// The one table of everything uvip refuses or fails at by itself: code -> HTTP status, metav1.Status
// reason, message, log level, metric label. No other file writes a status number for a failure.
// docs/failures.md lists the same rows; a unit test compares the two.

/** One row of the table. `retryAfter` is in seconds and stands only where no peer has received the request. */
export interface FailureRow {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly label: string;
  readonly retryAfter?: number;
}

const row = (r: FailureRow): FailureRow => Object.freeze(r);

export const FAILURES = {
  BAD_TARGET: row({
    status: 400,
    reason: 'BadRequest',
    message: 'the request target is malformed',
    level: 'debug',
    label: 'bad_target',
  }),
  BAD_REQUEST: row({
    status: 400,
    reason: 'BadRequest',
    message: 'the request cannot be sent on as it is',
    level: 'debug',
    label: 'bad_request',
  }),
  MALFORMED_MESSAGE: row({
    status: 400,
    reason: 'BadRequest',
    message: 'the request is not valid HTTP',
    level: 'debug',
    label: 'malformed_message',
  }),
  HEADERS_TOO_LARGE: row({
    status: 431,
    reason: 'RequestHeaderFieldsTooLarge',
    message: 'the request line and headers are larger than this proxy accepts',
    level: 'debug',
    label: 'headers_too_large',
  }),
  SHUTTING_DOWN: row({
    status: 429,
    reason: 'TooManyRequests',
    message: 'the proxy is shutting down, please try again',
    level: 'info',
    label: 'shutting_down',
    retryAfter: 5,
  }),
  UNAUTHORIZED: row({
    status: 401,
    reason: 'Unauthorized',
    message: 'Unauthorized',
    level: 'info',
    label: 'unauthorized',
  }),
  NOT_FOUND: row({
    status: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
    level: 'debug',
    label: 'not_found',
  }),
  METHOD_NOT_ALLOWED: row({
    status: 405,
    reason: 'MethodNotAllowed',
    message: 'the server does not allow this method on the requested resource',
    level: 'debug',
    label: 'method_not_allowed',
  }),
  NOT_ACCEPTABLE: row({
    status: 406,
    reason: 'NotAcceptable',
    message: 'only the following media types are accepted: application/json',
    level: 'debug',
    label: 'not_acceptable',
  }),
  INTERNAL: row({
    status: 500,
    reason: 'InternalError',
    message: 'an error on the proxy has prevented the request from succeeding',
    level: 'error',
    label: 'internal',
  }),
  NOTHING_READ: row({
    status: 503,
    reason: 'ServiceUnavailable',
    message: 'no API server has been read yet, please try again',
    level: 'info',
    label: 'nothing_read',
    retryAfter: 1,
  }),
  INCOMPLETE: row({
    status: 503,
    reason: 'ServiceUnavailable',
    message: 'some API servers have not been read, so nobody knows whether this exists, please try again',
    level: 'info',
    label: 'incomplete',
    retryAfter: 1,
  }),
  NO_READY_PEER: row({
    status: 503,
    reason: 'ServiceUnavailable',
    message: 'the API servers that serve this are not ready, please try again',
    level: 'warn',
    label: 'no_ready_peer',
    retryAfter: 1,
  }),
  NOT_SERVED: row({
    status: 503,
    reason: 'ServiceUnavailable',
    message: 'no API server in this cluster serves',
    level: 'info',
    label: 'not_served',
  }),
  PEERS_UNREACHABLE: row({
    status: 503,
    reason: 'ServiceUnavailable',
    message: 'no API server could be reached, please try again',
    level: 'warn',
    label: 'dial',
    retryAfter: 1,
  }),
  NOT_PROCESSED: row({
    status: 503,
    reason: 'ServiceUnavailable',
    message:
      'the API servers did not process the request: they are shutting down or have just changed what they serve',
    level: 'warn',
    label: 'not_processed',
  }),
  PEER_BROKE: row({
    status: 503,
    reason: 'ServiceUnavailable',
    message: 'the API server closed the connection before it answered; the request may have been processed',
    level: 'warn',
    label: 'sent',
  }),
  LOOP: row({
    status: 508,
    reason: 'LoopDetected',
    message: 'the address of a peer leads back to this proxy',
    level: 'error',
    label: 'loop',
  }),
  PEER_TIMEOUT: row({
    status: 504,
    reason: 'Timeout',
    message: 'the API server did not answer in time; the request may have been processed',
    level: 'warn',
    label: 'timeout',
  }),
} as const;

export type FailureCode = keyof typeof FAILURES;

/** A failure of one request: the row, and what the message says beyond it. */
export interface Failure {
  readonly code: FailureCode;
  readonly detail?: string;
}
