// Loads modules of Node that a start does not need when they are first used.
const SELDOM = /^node:(https|worker_threads|timers\/promises)$/

/** As a plugin of esbuild. */
export const lazyBuiltins = {
  name: 'lazy-builtins',
  setup(build) {
    build.onResolve({ filter: SELDOM }, ({ path, namespace }) =>
      namespace === 'lazy-builtin' ? { path, external: true } : { path, namespace: 'lazy-builtin' },
    )
    build.onLoad({ filter: SELDOM, namespace: 'lazy-builtin' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter(name => name !== 'default')
      const contents = `
        let loaded
        for (const name of ${JSON.stringify(names)})
          Object.defineProperty(exports, name, { enumerable: true, get: () => (loaded ??= require(${JSON.stringify(path)}))[name] })`
      return { contents, loader: 'js' }
    })
  },
}
