// The directions of docs/tour.md: who may import whom. `npm run arch` holds them.
const only = (name, from, allowed, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { pathNot: allowed },
});

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    only(
      'core-is-pure',
      '^src/core/',
      ['^src/core/'],
      'core knows nothing of Node, npm or the other folders',
    ),
    only(
      'config-imports',
      '^src/config/(?!files\\.ts)',
      ['^src/config/', '^src/core/', '^(node:)?util$'],
      'config: the core for types, node:util for its flag parser',
    ),
    only(
      'config-files-imports',
      '^src/config/files\\.ts$',
      ['^src/config/', '^src/core/', '^(node:)?(fs|fs/promises|crypto|path)$', '^node_modules/yaml/'],
      'files.ts is the one file of config that touches the disk',
    ),
    {
      name: 'config-core-types-only',
      severity: 'error',
      from: { path: '^src/config/' },
      to: { path: '^src/core/', dependencyTypesNot: ['type-only'] },
    },
    only(
      'state-imports',
      '^src/state/',
      ['^src/state/', '^src/core/', '^src/config/'],
      'state talks through ports',
    ),
    {
      name: 'config-types-only',
      severity: 'error',
      from: { path: '^src/(state|edge)/' },
      to: { path: '^src/config/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'edge-sees-only-ports',
      severity: 'error',
      from: { path: '^src/edge/' },
      to: { path: '^src/(state/(?!ports\\.ts)|demo/|app\\.ts|main\\.ts)' },
    },
    {
      name: 'demo-stands-alone',
      severity: 'error',
      from: { path: '^src/demo/' },
      to: { path: '^src/(config|state|edge|app\\.ts|main\\.ts)' },
    },
    {
      name: 'demo-is-imported-by-main-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(demo/|main\\.ts)' },
      to: { path: '^src/demo/' },
    },
    {
      name: 'app-is-imported-by-main-only',
      severity: 'error',
      from: { pathNot: '^(src/main\\.ts|test/)' },
      to: { path: '^src/app\\.ts$' },
    },
    {
      name: 'app-needs-no-npm',
      severity: 'error',
      from: { path: '^src/app\\.ts$' },
      to: { path: 'node_modules' },
    },
    {
      name: 'commands-need-no-server',
      severity: 'error',
      from: { path: '^src/commands/' },
      to: { path: '^src/(state|edge|demo|pki|app\\.ts|main\\.ts)' },
    },
    {
      name: 'pki-stands-alone',
      severity: 'error',
      from: { path: '^src/pki/' },
      to: { path: '^src/(?!pki/)' },
    },
    { name: 'no-orphans', severity: 'error', from: { orphan: true, pathNot: '\\.d\\.ts$' }, to: {} },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types'] },
  },
};
