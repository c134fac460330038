// `uvip hints`: EndpointSlices with hints written as the EndpointSlice controller would, so that slices kept by hand
// can be kept right.

import { stringify } from 'yaml';
import type { FileReader } from '../config/config.ts';
import type { HintsOptions } from '../config/client-flags.ts';
import { parseEndpointSlices, withHints } from '../core/endpoint-slice.ts';

/** Reads, writes hints, and returns YAML. Throws an Error in the user's words. */
export function runHints({ file, trafficDistribution }: HintsOptions, files: FileReader): string {
  const read = files.documents(file);
  if (!read.ok) throw new Error(read.problem);
  const written = read.documents.map((document) => {
    parseEndpointSlices(document); // throws for what is none
    return stringify(withHints(document, trafficDistribution.value));
  });
  return written.join('---\n').trimEnd();
}
