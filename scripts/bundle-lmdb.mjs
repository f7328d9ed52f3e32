// Bundles the JavaScript of lmdb with the command, so that its compiled code is kept, too. Loaded from its own package it takes a tenth of
// the start: it is compiled again, loads an encoding that is not used here, and the child process module to look for its native code.

/** As a plugin of esbuild; `loader` is a module that finds the native code. */
export const bundleLmdb = (loader = LOADER) => ({
  name: 'bundle-lmdb',
  setup(build) {
    const instead = (name, contents) => {
      build.onResolve({ filter: new RegExp(`^${name}$`) }, ({ importer, kind }) =>
        kind === 'require-resolve' || !/node_modules.lmdb/.test(importer) ? undefined : { path: name, namespace: 'instead' },
      )
      build.onLoad({ filter: new RegExp(`^${name}$`), namespace: 'instead' }, () => ({ contents, loader: 'js', resolveDir: '.' }))
    }
    // Values are bytes, and never encoded.
    instead('msgpackr', 'exports.Encoder = class {}')
    instead('node-gyp-build-optional-packages', loader)
    build.onResolve({ filter: /^lmdb$/ }, ({ kind, resolveDir }) => {
      if (kind === 'require-resolve') return { path: 'lmdb', external: true }
      // Its CommonJS, which does not need the URL of its file.
      if (kind !== 'require-call') return build.resolve('lmdb', { kind: 'require-call', resolveDir })
    })
  },
})

/** Loads the native code that npm installs for this platform. Unusual cases are left to lmdb's own loader. */
const LOADER = `
const { existsSync, realpathSync } = require('node:fs')
const { createRequire } = require('node:module')
const { dirname, join } = require('node:path')
module.exports = () => {
  // Searched by hand: to resolve a package with "exports", Node loads its ES module loader.
  const found = (require.resolve.paths('lmdb') ?? []).map(folder => join(folder, 'lmdb')).find(existsSync)
  const root = found === undefined ? dirname(dirname(require.resolve('lmdb'))) : realpathSync(found)
  const requireFromLmdb = createRequire(join(root, 'package.json'))
  return requireFromLmdb(installed(root, requireFromLmdb) ?? requireFromLmdb('node-gyp-build-optional-packages').resolve(root))
}
function installed(root, { resolve }) {
  const { platform, arch, env, versions } = process
  if (env.LMDB_PREBUILD || ['build', 'prebuilds'].some(made => existsSync(join(root, made))) || existsSync('/etc/alpine-release')) return
  const libc = platform === 'linux' ? '.glibc' : ''
  try {
    const folder = dirname(resolve('@lmdb/lmdb-' + platform + '-' + arch))
    return ['node.abi' + versions.modules, 'node.napi'].map(name => join(folder, name + libc + '.node')).find(existsSync)
  } catch {}
}
`
