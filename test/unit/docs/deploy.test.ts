// The manifests in deploy/ start the uvip of this commit: their flags pass validate.ts, with the files they mount.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { FileReader, FileResult } from '../../../src/config/config.ts';
import { parsePeerFile } from '../../../src/config/peer-file.ts';
import { validate } from '../../../src/config/validate.ts';
import { parseEndpointSlices } from '../../../src/core/endpoint-slice.ts';
import { endpointsToPeers } from '../../../src/core/slice-peers.ts';

const DEPLOY = new URL('../../../deploy/', import.meta.url);
const ROOT = new URL('../', DEPLOY);

interface Container {
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
}
interface Probe {
  readonly httpGet: { readonly port: number; readonly path: string };
}
interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly [Container];
  readonly volumes: readonly { readonly name: string; readonly configMap?: { readonly name: string } }[];
}
/** As much of any object as is looked at. */
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: PodSpec & { readonly template?: { readonly spec: PodSpec } };
  readonly rules?: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
  readonly subjects?: readonly { readonly name: string }[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
}

const documentsIn = (text: string) => parseAllDocuments(text).map((document) => document.toJS() as unknown);
const manifestsIn = (file: string) => documentsIn(readFileSync(new URL(file, DEPLOY), 'utf8')) as Manifest[];

function podIn(manifests: readonly Manifest[]): PodSpec {
  const owner = manifests.find(({ kind }) => kind === 'Pod' || kind === 'Deployment');
  const pod = owner?.spec?.template?.spec ?? owner?.spec;
  if (pod === undefined) throw new Error('no Pod');
  return pod;
}

/** Files as the Pod would see them: there if mounted; a ConfigMap of the same file with its content, all else with its name. */
function mountedFiles(pod: PodSpec, manifests: readonly Manifest[]): FileReader {
  const [{ volumeMounts }] = pod.containers;
  const mountOf = (file: string) =>
    volumeMounts.find(({ mountPath }) => file === mountPath || file.startsWith(`${mountPath}/`));
  const stem = (file: string) => file.replace(/\.(crt|key)$/, '');
  const mounted = (file: string): FileResult =>
    mountOf(file) ? { ok: true, text: stem(file) } : { ok: false, problem: `not mounted: ${file}` };
  return {
    certificates: mounted,
    privateKey: mounted,
    token: mounted,
    documents: (file) => {
      const mount = mountOf(file);
      const source = pod.volumes.find(({ name }) => name === mount?.name)?.configMap?.name;
      const configMap = manifests.find(
        ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === source,
      );
      const content = configMap?.data?.[file.slice(file.lastIndexOf('/') + 1)];
      return content === undefined
        ? { ok: false, problem: `not mounted: ${file}` }
        : { ok: true, documents: documentsIn(content) };
    },
    belongTogether: (cert, key) => cert === key,
  };
}

/** What the kubelet makes of `$(NAME)`. */
function expand({ args, env = [] }: Container): string[] {
  return args.map((arg) =>
    arg.replaceAll(/\$\((\w+)\)/g, (whole, name) =>
      env.some((e) => e.name === name) ? 'some-value' : whole,
    ),
  );
}

it('has only YAML that can be read', () => {
  const files = readdirSync(DEPLOY).filter((file) => file.endsWith('.yaml'));
  expect(files.sort()).toEqual(['deployment.yaml', 'peers.yaml', 'rbac.yaml', 'static-pod.yaml']);
  for (const file of files) {
    const text = readFileSync(new URL(file, DEPLOY), 'utf8');
    expect(parseAllDocuments(text).flatMap(({ errors }) => errors)).toEqual([]);
    expect(manifestsIn(file).every((m) => m.apiVersion && m.kind && m.metadata.name)).toBe(true);
  }
});

describe.each(['static-pod.yaml', 'deployment.yaml'])('%s', (file) => {
  const manifests = manifestsIn(file);
  const pod = podIn(manifests);
  const [container] = pod.containers;
  const [command, ...argv] = expand(container);
  const result = validate(argv, mountedFiles(pod, manifests));

  it('has flags that start', () => {
    expect(command).toBe('serve');
    expect(result).toMatchObject({ ok: true });
    expect(result.ok && result.config.warnings).toEqual([]);
  });

  it('probes the ops listener where it is', () => {
    const probes = [container.livenessProbe, container.readinessProbe].map(({ httpGet }) => httpGet);
    const ops = result.ok ? result.config.ops.port : 0;
    expect(probes).toMatchObject([
      { port: ops, path: '/livez' },
      { port: ops, path: '/readyz' },
    ]);
  });

  it('gives it the time to leave', () => {
    const { delayMs = 0, timeoutMs = 0 } = result.ok ? result.config.shutdown : {};
    expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(delayMs + timeoutMs);
  });

  it('mounts volumes it has', () => {
    const volumes = pod.volumes.map(({ name }) => name);
    expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(volumes.sort());
  });
});

describe('peers.yaml', () => {
  const documents = documentsIn(readFileSync(new URL('peers.yaml', DEPLOY), 'utf8'));

  it('is a peer file', () => {
    expect(parsePeerFile(documents)).toMatchObject({ ok: true, slices: documents });
  });

  it('names its peers and their places', () => {
    const peers = endpointsToPeers(documents.flatMap(parseEndpointSlices), { ca: '', serverName: '' });
    const names = ['cp-1', 'cp-2', 'cp-3'];
    expect(peers).toMatchObject(
      names.map((name) => ({ name, node: name, port: 6443, conditions: { ready: true } })),
    );
    expect(peers.map(({ zone, hints }) => hints?.forZones.includes(zone ?? ''))).toEqual([true, true, true]);
  });

  it('shows the shorter form as it is', () => {
    const comments = readFileSync(new URL('peers.yaml', DEPLOY), 'utf8').matchAll(/^# {5}(.*)$/gm);
    const short = documentsIn([...comments].map(([, line]) => line).join('\n'));
    expect(parsePeerFile(short)).toMatchObject({ ok: true, peers: [{ name: 'cp-1' }, { name: 'cp-2' }] });
  });
});

describe('rbac.yaml', () => {
  const manifests = manifestsIn('rbac.yaml');

  it('binds system:uvip to roles that are there', () => {
    const bindings = manifests.filter(({ kind }) => kind.endsWith('RoleBinding'));
    const own = manifests.filter(({ kind }) => kind === 'Role').map(({ metadata }) => metadata.name);
    expect(bindings.map(({ subjects }) => subjects?.[0]?.name)).toEqual(['system:uvip', 'system:uvip']);
    expect(bindings.map(({ roleRef }) => roleRef?.name)).toEqual(['system:discovery', ...own]);
  });

  it('allows what following a Service takes, and no more', () => {
    const [{ rules = [] } = {}] = manifests.filter(({ kind }) => kind === 'Role');
    expect(rules.map(({ resources, verbs }) => [resources, verbs])).toEqual([
      [['endpointslices'], ['list', 'watch']],
      [['services'], ['list', 'watch']],
    ]);
  });
});

describe('Dockerfile', () => {
  const text = readFileSync(new URL('Dockerfile', DEPLOY), 'utf8');

  it('copies files that are there and that its ignore file lets in', () => {
    const copied = [...text.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, files = '']) =>
      files.split(' '),
    );
    const allowed = readFileSync(new URL('Dockerfile.dockerignore', DEPLOY), 'utf8');
    expect(copied).toContain('package-lock.json');
    expect(copied.filter((file) => !existsSync(new URL(file, ROOT)))).toEqual([]);
    expect(copied.filter((file) => !allowed.split('\n').includes(`!${file}`))).toEqual([]);
  });

  it('does not run as root', () => {
    const stages = text.split(/^FROM /m);
    expect(stages.at(-1)).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
  });
});
