// Bundles src/cel of this repository, with what it uses of src/lib, into dist/: one CommonJS file, an ES module over it, and the types.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const inPackage = path => fileURLToPath(new URL(path, import.meta.url))
const types = inPackage('src/public.d.ts')

mkdirSync(inPackage('dist'), { recursive: true })
await build({
  entryPoints: [inPackage('src/index.ts')],
  outfile: inPackage('dist/cel.cjs'),
  absWorkingDir: inPackage('../..'),
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  // Names stay as they are, for stack traces and names of errors.
  keepNames: true,
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
  preserveSymlinks: true,
})
// One copy of the code serves both kinds of modules, so that an error of one is an instance of the other's class.
const names = [...readFileSync(types, 'utf8').matchAll(/^export (?:function|class|const) (\w+)/gm)].map(([, name]) => name)
writeFileSync(inPackage('dist/cel.js'), `import cel from './cel.cjs'\n\nexport const { ${names.join(', ')} } = cel\n`)
copyFileSync(inPackage('../../LICENSE'), inPackage('dist/LICENSE'))
for (const name of ['cel.d.ts', 'cel.d.cts']) copyFileSync(types, inPackage(`dist/${name}`))
