// The console's files: one entry and chunks that are loaded when they are needed, named by their content and compressed once, here.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib'
import { build } from 'esbuild'

/** Smaller files are sent as they are. */
const MIN_COMPRESSED_BYTES = 512

export async function bundleConsole(folder) {
  const assets = join(folder, 'assets')
  const { outputFiles, metafile } = await build({
    entryPoints: ['console/main.tsx'],
    outdir: assets,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome120', 'firefox121', 'safari17'],
    minify: true,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.svg': 'file', '.woff2': 'file' },
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'warning',
    preserveSymlinks: true,
  })
  mkdirSync(assets, { recursive: true })
  for (const { path, contents } of outputFiles) writeCompressed(join(assets, basename(path)), contents)
  writeCompressed(join(folder, 'index.html'), Buffer.from(page(metafile)))
}

/** The page, which loads the entry with its styles, and at the same time the chunks that the entry imports. */
function page({ outputs }) {
  const [entry, { cssBundle, imports }] = Object.entries(outputs).find(([, output]) => output.entryPoint === 'console/main.tsx')
  const url = path => `/console/assets/${basename(path)}`
  const needed = imports.filter(({ kind, external }) => kind === 'import-statement' && !external)
  const styles = [
    ...(cssBundle ? [`<link rel="stylesheet" href="${url(cssBundle)}" />`] : []),
    ...needed.map(({ path }) => `<link rel="modulepreload" href="${url(path)}" />`),
  ]
  return readFileSync('console/index.html', 'utf8')
    .replace('<!-- styles -->', styles.join('\n    '))
    .replace('<!-- scripts -->', `<script type="module" src="${url(entry)}"></script>`)
}

function writeCompressed(file, contents) {
  writeFileSync(file, contents)
  if (contents.length < MIN_COMPRESSED_BYTES) return
  const quality = { [zlib.BROTLI_PARAM_QUALITY]: zlib.BROTLI_MAX_QUALITY, [zlib.BROTLI_PARAM_SIZE_HINT]: contents.length }
  writeFileSync(`${file}.br`, brotliCompressSync(contents, { params: quality }))
  writeFileSync(`${file}.gz`, gzipSync(contents, { level: 9 }))
}
