// Writes the URL of the repository into the published package: node scripts/name-repository.mjs https://github.com/OWNER/NAME [REF]
//
// The sources contain no URL, as forks and mirrors publish, too: the release workflow knows where it runs. package.json gets `repository`,
// `homepage` and `bugs`; relative links of the published pages lead to the files of that release.
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const PAGES = ['README.md', 'CHANGELOG.md']
const LINK = /(\]\()(?![a-z]+:|#)([^)\s]+)(\))/g

/** package.json with the fields that registries show. */
export function withRepository(manifest, address) {
  const { name, version, description, license, ...rest } = manifest
  const fields = {
    homepage: `${address}#readme`,
    repository: { type: 'git', url: `git+${address}.git` },
    bugs: { url: `${address}/issues` },
  }
  return { name, version, description, license, ...fields, ...rest }
}

/** A page whose relative links lead to the repository. */
export function withAbsoluteLinks(page, address, ref) {
  return page.replace(
    LINK,
    (_, open, path, close) => `${open}${address}/${/\.(svg|png)$/.test(path) ? 'raw' : 'blob'}/${ref}/${path}${close}`,
  )
}

/** The normalized URL: without a slash or `.git` at its end. */
export function checkedAddress(address) {
  const isAddress = address !== undefined && /^https:\/\/[^/\s]+\/[^\s?#]+$/.test(address)
  if (!isAddress)
    throw new Error(`the address of the repository must be a URL such as https://github.com/OWNER/NAME, not ${address ?? 'absent'}`)
  return address.replace(/\/+$/, '').replace(/\.git$/, '')
}

function main(given, ref) {
  const address = checkedAddress(given)
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
  writeFileSync('package.json', `${JSON.stringify(withRepository(manifest, address), undefined, 2)}\n`)
  for (const page of PAGES) writeFileSync(page, withAbsoluteLinks(readFileSync(page, 'utf8'), address, ref ?? `v${manifest.version}`))
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    main(...process.argv.slice(2))
  } catch (error) {
    console.error(error.message)
    process.exitCode = 2
  }
}
