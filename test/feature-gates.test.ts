// docs/feature-gates.md lists every gate with its default, and says of which the source makes use.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { featureStages, readFeatureGates } from '../src/server/feature-gates.ts'
import { ROOT } from './kit.ts'

type Row = { readonly gate: string; readonly state: string; readonly here: string }

function rows(): Row[] {
  const text = readFileSync(join(ROOT, 'docs/feature-gates.md'), 'utf8')
  return [...text.matchAll(/^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$/gm)].map(([, gate = '', state = '', here = '']) => ({
    gate,
    state,
    here,
  }))
}

/** Where gates are listed, and not made use of. */
const TABLES = ['feature-gates.ts', 'former-gates.ts']

/** All words in quotes in the source. */
function quoted(): ReadonlySet<string> {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  const sources = files.filter(file => file.endsWith('.ts') && !file.endsWith('.test.ts') && !TABLES.some(table => file.endsWith(table)))
  const texts = sources.map(file => readFileSync(join(ROOT, 'src', file), 'utf8'))
  return new Set(texts.flatMap(text => [...text.matchAll(/['"`](\w+)['"`]/g)].map(([, word]) => word!)))
}

test('every gate is documented once, in order, with its stage and default', () => {
  const gate = readFeatureGates('')
  const isFixed = (name: string) => {
    try {
      readFeatureGates(`${name}=${!gate(name)}`)
      return false
    } catch (error) {
      return /cannot be turned/.test((error as Error).message)
    }
  }
  const expected = featureStages()
    .filter(([name]) => !name.startsWith('All') || !['AllAlpha', 'AllBeta'].includes(name))
    .map(([name, stage]) => {
      const on = gate(name) ? 'on' : 'off'
      const state = isFixed(name) ? `always ${on}` : stage === '' ? on : `${stage.toLowerCase()}, ${on}`
      return `${name}: ${state}`
    })
  const lower = (a: string, b: string) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)
  assert.deepEqual(
    rows().map(({ gate: name, state }) => `${name}: ${state}`),
    expected.sort(lower),
  )
})

test('gates that the source makes use of have an effect, and no others', () => {
  const words = quoted()
  for (const { gate, here } of rows()) assert.equal(here === 'has effect', words.has(gate), gate)
})
