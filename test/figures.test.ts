// Figures: pages show what bench/figures.json has, and no others.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readFigures } from '../bench/figures.ts'
import { CHART, chartOf, PAGES, pageText, SCHEDULER_CHART, schedulerChartOf } from '../bench/pages.ts'
import { SECTIONS } from '../bench/sections.ts'

const textOf = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const figures = readFigures()

test('every figure says on which machine it was measured, and is of a part that can be measured again', () => {
  const parts = [...Object.keys(SECTIONS), 'compare']
  for (const [name, { machine }] of Object.entries(figures)) {
    assert.ok(parts.includes(name), name)
    assert.match(machine.node, /^\d+\./, name)
  }
})

for (const page of PAGES) test(`${page} shows the figures of bench/figures.json`, () => assert.equal(textOf(page), pageText(page, figures)))

test('the charts show the figures of bench/figures.json', () => {
  assert.equal(textOf(CHART), chartOf(figures))
  assert.equal(textOf(SCHEDULER_CHART), schedulerChartOf(figures))
})

// Example output of a console is no claim.
for (const page of ['README.md', 'docs/comparison.md'])
  test(`${page} has no figures of speed and memory but those`, () => {
    assert.doesNotMatch(textOf(page), /not measured/i)
    const prose = textOf(page)
      .replaceAll(/<!-- figures [\s\S]*?<!-- \/figures -->/g, '')
      .replaceAll(/```[\s\S]*?```/g, '')
    assert.deepEqual(prose.match(/[\d.,]+ ?(?:µs|ms|MB|GB|\/s)\b|told to us|creates a second/g), null)
  })

test('every request is measured over HTTP/1.1 and HTTP/2', () => {
  for (const requests of [figures.requests!.costs, figures.compare!.requests]) {
    const names = (protocol: string) => requests.filter(each => each.protocol === protocol).map(({ name }) => name)
    assert.deepEqual(names('HTTP/2'), names('HTTP/1.1'))
    assert.ok(names('HTTP/2').length >= 8)
  }
})
