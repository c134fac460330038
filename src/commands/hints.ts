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
    // kubectl reads YAML as 1.1 has it, where `yes`, `on` or 12:30 are no text unless they are quoted.
    return stringify(withHints(document, trafficDistribution.value), { compat: 'yaml-1.1' });
  });
  return written.join('---\n').trimEnd();
}
