// Loads modules of Node that a start does not need when they are first used.
export const SELDOM = ['http', 'http2', 'https', 'worker_threads', 'timers/promises']

/** As a plugin of esbuild, for a bundle that seldom uses these modules as well. */
export const lazyBuiltins = (...more) => ({
  name: 'lazy-builtins',
  setup(build) {
    const filter = new RegExp(`^node:(${[...SELDOM, ...more].join('|')})$`)
    build.onResolve({ filter }, ({ path, namespace }) =>
      namespace === 'lazy-builtin' ? { path, external: true } : { path, namespace: 'lazy-builtin' },
    )
    build.onLoad({ filter, namespace: 'lazy-builtin' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter(name => name !== 'default')
      const contents = `
        let loaded
        for (const name of ${JSON.stringify(names)})
          Object.defineProperty(exports, name, { enumerable: true, get: () => (loaded ??= require(${JSON.stringify(path)}))[name] })`
      return { contents, loader: 'js' }
    })
  },
})
