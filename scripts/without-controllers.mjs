// Leaves the modules that the table of controllers loads on demand out of the supervisor's bundle, which reads their names alone.

/** As a plugin of esbuild. */
export const withoutControllers = {
  name: 'without controllers',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\./ }, ({ kind, importer, path }) =>
      kind === 'dynamic-import' && importer.endsWith('controller-table.ts') ? { path, external: true } : undefined,
    ),
}
