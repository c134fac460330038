// Owns the configuration of nginx, which stands in for an API server, and of HAProxy, which we are compared to.
// Both from Debian's packages. Never tuned beyond what is needed to make the comparison fair.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PEER_NAME, type CertFiles } from './certs.ts';
import { MADE_PATH, SMALL_BODY, SMALL_HEADERS, SMALL_PATH } from './exchange.ts';

const DISCOVERY_TYPE = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

const VERSION = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.0',
  gitCommit: '0000000000000000000000000000000000000000',
  gitTreeState: 'clean',
  buildDate: '2026-04-22T00:00:00Z',
  goVersion: 'go1.25.0',
  compiler: 'gc',
  platform: 'linux/amd64',
};

const resource = (plural: string, kind: string, scope: string) => ({
  resource: plural,
  responseKind: { group: '', version: 'v1', kind },
  scope,
  singularResource: kind.toLowerCase(),
  verbs: VERBS,
});

const CORE_V1 = {
  metadata: { creationTimestamp: null },
  versions: [
    {
      version: 'v1',
      freshness: 'Current',
      resources: [
        resource('configmaps', 'ConfigMap', 'Namespaced'),
        resource('namespaces', 'Namespace', 'Cluster'),
        resource('pods', 'Pod', 'Namespaced'),
      ],
    },
  ],
};

const discoveryList = (items: object[]) =>
  JSON.stringify({
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items,
  });

/** A location that answers from the configuration itself. nginx joins the headers of 200 and 404 alike. */
function answer(path: string, type: string, body: string, status = 200): string {
  return `location = ${path} { default_type "${type}"; return ${status} '${body}'; }`;
}

/** Writes nginx's configuration into `folder` and gives the command that runs it as one foreground process. */
export function nginxCommand(folder: string, certs: CertFiles, port: number): string[] {
  const dir = join(folder, 'nginx');
  mkdirSync(dir);
  const headers = Object.entries(SMALL_HEADERS).map(
    ([name, value]) => `add_header ${name} "${value}" always;`,
  );
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (n) => `${n}_temp_path ${dir}/${n};`,
  );
  const config = `
daemon off; master_process off; worker_processes 1; pid ${dir}/pid; error_log stderr warn;
events { worker_connections 4096; }
http {
  access_log off; server_tokens off; types {} ${temporary.join(' ')}
  keepalive_requests 1000000000; http2_max_concurrent_streams 1000; keepalive_timeout 1h; large_client_header_buffers 4 16k;
  server {
    listen 127.0.0.1:${port} ssl http2 backlog=1024;
    ssl_certificate ${certs.cert}; ssl_certificate_key ${certs.key};
    ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:s:1m;
    add_header Audit-Id $request_id always;
    ${headers.join('\n    ')}
    ${answer('/readyz', 'text/plain; charset=utf-8', 'ok')}
    ${answer('/livez', 'text/plain; charset=utf-8', 'ok')}
    ${answer('/version', 'application/json', JSON.stringify(VERSION))}
    ${answer('/api', DISCOVERY_TYPE, discoveryList([CORE_V1]))}
    ${answer('/apis', DISCOVERY_TYPE, discoveryList([]))}
    ${answer(SMALL_PATH, 'application/json', SMALL_BODY)}
    ${answer(MADE_PATH, 'application/json', SMALL_BODY, 201)}
    location / { default_type text/plain; return 404 "404 page not found"; }
  }
}
`;
  writeFileSync(join(dir, 'nginx.conf'), config);
  return ['nginx', '-p', dir, '-e', 'stderr', '-c', join(dir, 'nginx.conf')];
}

export interface HaproxyPorts {
  readonly listen: number;
  readonly peer: number;
}

/** Writes HAProxy's configuration into `folder` and gives the command that runs it with one thread. */
export function haproxyCommand(folder: string, certs: CertFiles, ports: HaproxyPorts): string[] {
  const file = join(folder, `haproxy-${ports.listen}.cfg`);
  const verify = `verify required ca-file ${certs.ca} sni str(${PEER_NAME}) verifyhost ${PEER_NAME}`;
  writeFileSync(
    file,
    `
global
  nbthread 1
  maxconn 4096
defaults
  mode http
  option http-keep-alive
  option forwardfor
  http-reuse always
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend clients
  bind 127.0.0.1:${ports.listen} ssl crt ${certs.bundle} alpn h2,http/1.1
  default_backend api
backend api
  server a 127.0.0.1:${ports.peer} ssl ${verify}
`,
  );
  return ['haproxy', '-db', '-f', file];
}
