// All test files with all that they import, as one CommonJS file: a process loads it in a moment and runs any of them, without
// compiling TypeScript as it goes.
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { workerDefinitions } from './build-workers.mjs'

/** Writes the bundle with its source map and returns its path. It exports a function for each file, which loads that file. */
export async function bundleTests(files, folder) {
  const outfile = join(folder, 'tests.cjs')
  const contents = `module.exports = {\n${files.map(file => `  ${JSON.stringify(file)}: () => require(${JSON.stringify(`./${file}`)}),`).join('\n')}\n}`
  return await bundle({ stdin: { contents, resolveDir: resolve('.'), sourcefile: 'tests' } }, outfile, [fewerRuns])
}

/** Bundles one program of the tests with all that it imports, and returns its path. */
export const bundleOf = ({ entry, outfile, plugins = [] }) => bundle({ entryPoints: [entry] }, outfile, plugins)

async function bundle(input, outfile, plugins) {
  await build({
    ...input,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    outfile,
    sourcemap: 'external',
    sourcesContent: false,
    define: { ...(await workerDefinitions()), 'import.meta.url': OWN_ADDRESS },
    external: ['lmdb', 'pino', 'ws', 'esbuild', 'typescript', 'playwright-core', 'axe-core'],
    logLevel: 'warning',
    plugins: [...plugins, ownAddresses],
  })
  return outfile
}

/** Stands for `import.meta.url` in the bundle. */
const OWN_ADDRESS = 'addressOfThisFile'

/** Files find others by where they are, not by where the bundle is. */
const ownAddresses = {
  name: 'own-addresses',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\](src|test|bench)[/\\].*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!text.includes('import.meta.url')) return
      // On the first line, so that positions stay. Scripts that tests write contain the expression as text, which stays as well.
      return { contents: `const ${OWN_ADDRESS} = ${JSON.stringify(pathToFileURL(path).href)}; ${text}`, loader: 'ts' }
    })
  },
}

/** Properties are tried as often as test/kits/properties.ts says. */
const fewerRuns = {
  name: 'fewer-runs',
  setup({ onResolve }) {
    const path = resolve('test/kits/properties.ts')
    onResolve({ filter: /^fast-check$/ }, ({ importer }) => (importer !== path && existsSync(path) ? { path } : undefined))
  },
}
