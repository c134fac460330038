// What a peer's answer means for further attempts: whether the peer processed the request at all. Looks at
// status, content type and the beginning of the body; changes nothing.

/** An answer that says the request was not processed, and why. */
export type NotProcessed = 'shuttingDown' | 'typeMissing';

// Longer bodies are real answers: both texts and the Status are far below it.
export const MAX_JUDGED_BYTES = 1024;

const SHUTTING_DOWN = 'apiserver is shutting down';
const PLAIN_NOT_FOUND = '404 page not found';
const NO_SUCH_TYPE = 'the server could not find the requested resource';
// The same Status for clients that speak protobuf, controllers above all (k8s.io/apimachinery meta/v1 generated.proto):
// message, reason, details in which every field is empty or left out, code.
const PROTOBUF_NO_SUCH_TYPE = new RegExp(
  `^k8s\\0[^]*\\x1a\\x30${NO_SUCH_TYPE}\\x22\\x08NotFound(?:\\x2a[^](?:[\\x0a\\x12\\x1a\\x28\\x32]\\0)*)?\\x30`,
);

/** Whether an answer with this head can be one of them at all; only then is its body held back to be judged. */
export function isDoubtful(status: number, isResource: boolean, contentLength: string | undefined): boolean {
  if (status !== 429 && status !== 503 && !(status === 404 && isResource)) return false;
  return contentLength === undefined || Number(contentLength) <= MAX_JUDGED_BYTES;
}

/**
 * Judges a whole body. 429 with the shutting-down text (k8s.io/apiserver pkg/server/filters/with_retry_after.go), 503
 * with a Status of just that text (pkg/server/filters/waitgroup.go, ahead of everything that looks at the request),
 * and a 404 that says the type, not the object, is missing: plain text from the mux
 * (pkg/util/notfoundhandler), or a Status without details from the group's own handler.
 */
export function judgeAnswer(status: number, body: string): NotProcessed | undefined {
  if (status === 429) return body.includes(SHUTTING_DOWN) ? 'shuttingDown' : undefined;
  if (status === 503) return asStatus(body)?.message === SHUTTING_DOWN ? 'shuttingDown' : undefined;
  if (status !== 404) return undefined;
  const missing =
    body.trim() === PLAIN_NOT_FOUND || PROTOBUF_NO_SUCH_TYPE.test(body) || isTypeMissingStatus(body);
  return missing ? 'typeMissing' : undefined;
}

function isTypeMissingStatus(body: string): boolean {
  const status = asStatus(body);
  if (status === undefined) return false;
  const { message, details } = status;
  const empty = details === undefined || details === null || Object.keys(details).length === 0;
  return message === NO_SUCH_TYPE && empty;
}

function asStatus(body: string): { message?: unknown; details?: unknown } | undefined {
  let status: unknown;
  try {
    status = JSON.parse(body);
  } catch {
    return undefined;
  }
  const isStatus =
    typeof status === 'object' && status !== null && 'kind' in status && status.kind === 'Status';
  return isStatus ? (status as object) : undefined;
}
