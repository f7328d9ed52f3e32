// Comments are plain English: none begins as a clause without its sentence, and every source file says at its top what it is.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FOLDERS = ['src', 'console', 'test', 'bench', 'scripts', 'packages', 'runners', 'bin', 'examples']
const SOURCE = /\.(?:ts|tsx|mts|cts|js|mjs|cjs)$/
/** Installed programs, and results of builds. */
const NOT_OURS = /(?:^|\/)(?:node_modules|dist)\/|^test\/programs\//

/** Words with which a comment would begin in the middle of a thought. */
const BEGINNINGS = /^(?:What|Who|Whom|Whose|That|Of|By)\b/

/** Clauses in place of a noun. Code in comments is not prose. */
const CLAUSES = /\b(?:what (?:is|was)|that what|of what|by what|that which)\b/i

const FILES = FOLDERS.flatMap(folder =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(path => `${folder}/${path.replaceAll('\\', '/')}`),
).filter(path => SOURCE.test(path) && !NOT_OURS.test(path))
const TEXTS = new Map(FILES.map(path => [path, readFileSync(join(ROOT, path), 'utf8')]))

test('no comment begins with What, Who, Whom, Whose, That, Of or By', () => {
  const found = [...TEXTS].flatMap(([path, text]) =>
    commentsIn(text)
      .filter(({ comment }) => BEGINNINGS.test(comment))
      .map(({ line, comment }) => `${path}:${line}: ${comment}`),
  )
  assert.equal(found.length, 0, found.join('\n'))
})

test('no further sentence of a comment begins with What, Who, Whom, Whose or That', () => {
  const found = [...TEXTS].flatMap(([path, text]) =>
    text
      .replaceAll(CONTINUED, ' ')
      .split('\n')
      .flatMap(line => {
        const [comment = ''] = COMMENT.exec(line) ?? []
        return SENTENCE.test(comment) ? [`${path}: ${comment.trim()}`] : []
      }),
  )
  assert.equal(found.length, 0, found.join('\n'))
})
const SENTENCE = /[.!?] (?:What|Who|Whom|Whose|That)\b/
/** The start of a further line of a comment. */
const CONTINUED = /\n\s*(?:\*|\/\/) (?=(?:What|Who|Whom|Whose|That)\b)/g

test('no comment has a clause in place of a noun', () => {
  const found = [...TEXTS].flatMap(([path, text]) =>
    text.split('\n').flatMap((line, i) => {
      const [comment = ''] = COMMENT.exec(line) ?? []
      return path !== 'test/words.test.ts' && CLAUSES.test(comment) ? [`${path}:${i + 1}: ${comment.trim()}`] : []
    }),
  )
  assert.equal(found.length, 0, found.join('\n'))
})
/** The part of a line that is a comment: the whole line, or the rest of it behind code. */
const COMMENT = /^\s*(?:\/\/|\/?\*).*|\s(?:\/\/|\/\*\*) .*/

test('no description that OpenAPI publishes begins with What, Who, Whom, Whose or That', () => {
  const found = [...TEXTS].flatMap(([path, text]) =>
    /^src\/(?:kinds|schema|http)\//.test(path) && !isUnitTest(path)
      ? [...text.matchAll(DESCRIPTION)].map(([description]) => `${path}: ${description}`)
      : [],
  )
  assert.equal(found.length, 0, found.join('\n'))
})
const DESCRIPTION = /'(?:What|Who|Whom|Whose|That)\b[^']*'/g

test('no title of an end-to-end test has such a clause', () => {
  const found = [...TEXTS].flatMap(([path, text]) =>
    path.startsWith('test/')
      ? [...text.matchAll(TITLE)].flatMap(([, title = '']) => (CLAUSES.test(title) ? [`${path}: ${title}`] : []))
      : [],
  )
  assert.equal(found.length, 0, found.join('\n'))
})
const TITLE = /\btest(?:With)?\((?:'[a-z-]+', )?(['"`].*?['"`]), /g

test('a limit is named MAX or MIN', () => {
  const found = [...TEXTS].flatMap(([path, text]) =>
    path.startsWith('src/') ? [...text.matchAll(OTHER_LIMIT)].map(([, name]) => `${path}: ${name}`) : [],
  )
  assert.equal(found.length, 0, found.join('\n'))
})
const OTHER_LIMIT =
  /\bconst ((?:MOST|LONGEST|LARGEST|WIDEST|LEAST|SHORTEST|SMALLEST)_\w+|(?!(?:MAX|MIN|DEFAULT)_)\w*(?:AT_ONCE|_LIMIT)(?= = -?[\d(]))/g

test('every source file begins with a comment', () => {
  // Unit tests stand beside their subject, and their titles are sentences.
  const silent = [...TEXTS].filter(([path, text]) => !isUnitTest(path) && !/^(?:#!.*\n)?(?:'use strict'\n)?\s*(?:\/\/ |\/\*)/.test(text))
  assert.equal(silent.length, 0, silent.map(([path]) => path).join('\n'))
})

test('comments are found on their own lines, behind code, and in blocks', () => {
  const text = ['// a', '// b', 'const x = 1 // c', '/** d */', '/**', ' * e', ' * f', ' */', "const url = 'https://g'"].join('\n')
  assert.deepEqual(
    commentsIn(text).map(({ line, comment }) => `${line} ${comment}`),
    ['1 a', '3 c', '4 d', '5 e'],
  )
})

const isUnitTest = (path: string) => path.startsWith('src/') && path.endsWith('.test.ts')

type Comment = { readonly line: number; readonly comment: string }

/** The first line of each comment; further lines may begin anyhow. */
function commentsIn(text: string): Comment[] {
  const lines = text.split('\n')
  return lines.flatMap((line, i) => {
    const [, own] = /^\s*\/\/ ?(.*)/.exec(line) ?? []
    if (own !== undefined) return /^\s*\/\//.test(lines[i - 1] ?? '') ? [] : [{ line: i + 1, comment: own }]
    const [, block] = /(?:^|\s)\/\*\*? ?(.*?)(?:\*\/|$)/.exec(line) ?? []
    if (block !== undefined) return [{ line: i + 1, comment: block.trim() || (lines[i + 1] ?? '').replace(/^\s*\* ?/, '') }]
    const [, behind] = /\s\/\/ (.*)$/.exec(line) ?? []
    return behind === undefined ? [] : [{ line: i + 1, comment: behind }]
  })
}
