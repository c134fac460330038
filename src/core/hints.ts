// What an endpoint is to traffic distribution, and writing its hints as the EndpointSlice controller does
// (KEP-3015, k8s.io/endpointslice trafficdist/trafficdist.go). Reading them is topology.ts; JSON is endpoint-slice.ts.

/** Names of nodes and zones that should use an endpoint; an empty list is no hint. */
export interface Hints {
  readonly forNodes: readonly string[];
  readonly forZones: readonly string[];
}

/** An endpoint's conditions as a reader takes them: what is not stated has been filled in. */
export interface Conditions {
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
}

/** Where something runs; absent or empty: not known. */
export interface Place {
  readonly node?: string | undefined;
  readonly zone?: string | undefined;
}

/** An endpoint as far as traffic distribution looks at it. */
export interface Endpoint extends Conditions, Place {
  /** Whether `ready: true` was written down. A writer of hints needs that; where it is absent, `ready` stands for it. */
  readonly statedReady?: boolean;
  readonly hints?: Hints | undefined;
}

export type TrafficDistribution = 'PreferSameNode' | 'PreferSameZone';

/**
 * A Service's `trafficDistribution`, or a flag that stands for it, read in this one place. PreferClose is the old
 * name of PreferSameZone and stays that for ever; what is not known means no distribution, as for the controller,
 * and comes with a warning in the user's words. The empty text is "not set" and no reason to warn.
 */
export function parseTrafficDistribution(text: string): {
  readonly value: TrafficDistribution | undefined;
  readonly warning?: string;
} {
  switch (text) {
    case '':
      return { value: undefined };
    case 'PreferSameNode':
    case 'PreferSameZone':
      return { value: text };
    case 'PreferClose':
      return { value: 'PreferSameZone', warning: 'PreferClose is deprecated; write PreferSameZone' };
    default:
      return {
        value: undefined,
        warning: `${JSON.stringify(text)} is neither PreferSameNode nor PreferSameZone; it counts as none`,
      };
  }
}

/** What hints can be written to: an Endpoint, or a Peer, which is ready unless an EndpointSlice says otherwise. */
type Hintable = Place & Partial<Pick<Endpoint, 'ready' | 'statedReady' | 'hints'>>;

/**
 * The endpoints with hints written; those left alone are the same objects. Ready ones get what their place says,
 * or none; others keep what they have, stale as it may be; without a distribution all lose their hints. No
 * safeguards (counts, CPU, a single zone), as upstream.
 */
export function writeHints<E extends Hintable>(
  endpoints: readonly E[],
  distribution: TrafficDistribution | undefined,
): readonly E[] {
  return endpoints.map((endpoint) =>
    isWritten(endpoint.statedReady ?? endpoint.ready ?? true, distribution)
      ? { ...endpoint, hints: hintsFor(endpoint, distribution) }
      : endpoint,
  );
}

/** Whether the controller touches an endpoint's hints at all. `ready` must have been stated: unknown is not ready. */
export function isWritten(ready: boolean, distribution: TrafficDistribution | undefined): boolean {
  return distribution === undefined || ready;
}

/** The hints of an endpoint that runs there. An empty name is no name: the API accepts no hint for it. */
export function hintsFor(
  { node = '', zone = '' }: Place,
  distribution: TrafficDistribution | undefined,
): Hints | undefined {
  if (distribution === undefined) return undefined;
  const forZones = zone === '' ? [] : [zone];
  const forNodes = node === '' || distribution !== 'PreferSameNode' ? [] : [node];
  return forZones.length + forNodes.length > 0 ? { forNodes, forZones } : undefined;
}
