// Accept header -> in which form a simulated server answers. Follows k8s.io/apiserver's negotiation as recorded
// in the test bed: an aggregated clause wins over plain JSON wherever it stands.

import { notAcceptable } from '../objects/errors.ts';

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** Which form of objects a client wants. */
export type ObjectForm = 'object' | 'table' | 'metadata';

/** The form that the first clause we can meet asks for; ApiError 406 when there is none. */
export function objectForm(accept: string | undefined): ObjectForm {
  const form = clauses(accept)
    .map(formOf)
    .find((each) => each !== undefined);
  if (form === undefined) {
    throw notAcceptable(['application/json']);
  }
  return form;
}

/** Who asks for protobuf gets JSON and, told so by the content type, reads that. */
function formOf({ type, parameters }: Clause): ObjectForm | undefined {
  if (!isJson(type) && type !== 'application/vnd.kubernetes.protobuf') {
    return undefined;
  }
  switch (parameters.get('as')) {
    case undefined:
      return 'object';
    case 'Table':
      return /^v1(beta1)?$/.test(parameters.get('v') ?? '') ? 'table' : undefined;
    case 'PartialObjectMetadata':
    case 'PartialObjectMetadataList':
      return 'metadata';
    default:
      return undefined;
  }
}

/**
 * The version of aggregated discovery to answer with, one of `spoken`, or undefined for the legacy documents.
 * @throws ApiError 406
 */
export function aggregatedVersion(accept: string | undefined, spoken: readonly string[]): string | undefined {
  const wanted = clauses(accept);
  const aggregated = wanted
    .filter(({ parameters }) => parameters.get('g') === 'apidiscovery.k8s.io')
    .map(({ parameters }) => parameters.get('v') ?? '');
  const version = aggregated.find((each) => spoken.includes(each));
  const legacy = wanted.some(({ type, parameters }) => isJson(type) && !parameters.has('as'));
  if (version === undefined && !legacy) {
    throw notAcceptable(['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']);
  }
  return version;
}

function isJson(type: string): boolean {
  return type === 'application/json' || type === '*/*' || type === 'application/*';
}

function clauses(accept: string | undefined): Clause[] {
  const text = accept === undefined || accept.trim() === '' ? '*/*' : accept;
  return text.split(',').map((clause) => {
    const [type = '', ...parameters] = clause.split(';').map((part) => part.trim());
    const pairs = parameters.map((parameter) => parameter.split('=') as [string, string]);
    return { type: type.toLowerCase(), parameters: new Map(pairs) };
  });
}
