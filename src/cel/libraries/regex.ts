/** Searching strings with regular expressions: find and findAll. */

import { countingSteps, engine } from '../../lib/linear-regex.ts'
import type { Library } from '../checker/library.ts'
import { intType, listType, stringType } from '../checker/types.ts'
import { type CelInt, type CelValue, fault, listOf } from '../runtime/values.ts'
import { countWork } from '../runtime/work.ts'
import { actualSize, matchingCost } from './call-costs.ts'
import { fn, member } from './declare.ts'

const cost = ([text, pattern]: readonly CelValue[]): number => matchingCost(text, actualSize(pattern))
const texts = listType(stringType)

export const regexLibrary = (): Library => ({
  functions: [
    fn('find', member({ id: 'string_find_string', params: [stringType, stringType], result: stringType, cost }, find)),
    fn(
      'findAll',
      member({ id: 'string_find_all_string', params: [stringType, stringType], result: texts, cost }, findAll),
      member({ id: 'string_find_all_string_int', params: [stringType, stringType, intType], result: texts, cost }, findAll),
    ),
  ],
})

const MAX_CACHED = 256
type Pattern = ReturnType<ReturnType<typeof engine>['compile']>
const kept = new Map<string, Pattern>()

function compiled(pattern: string): Pattern {
  const found = kept.get(pattern)
  if (found) return found
  const made = engine().compile(pattern)
  if (kept.size >= MAX_CACHED) kept.clear()
  kept.set(pattern, made)
  return made
}

function searching(text: string, pattern: string, search: (regex: Pattern) => CelValue): CelValue {
  let regex: Pattern
  try {
    regex = compiled(pattern)
  } catch (error) {
    return fault(`Illegal regex: ${(error as Error).message}`)
  }
  return countingSteps(regex, text, { onSteps: countWork, search: () => search(regex) })
}

function find(text: string, pattern: string): CelValue {
  return searching(text, pattern, regex => {
    const matcher = regex.matcher(text)
    return matcher.find() ? (matcher.group() ?? '') : ''
  })
}

/** The matches in order, at most `limit` unless it is negative; an empty match right after another one does not count. */
function findAll(text: string, pattern: string, limit: CelInt = -1): CelValue {
  return searching(text, pattern, regex => {
    const matcher = regex.matcher(text)
    const out: string[] = []
    let previousEnd = -1
    while ((limit < 0 || out.length < limit) && matcher.find()) {
      const [start, end] = [matcher.start(), matcher.end()]
      if (start !== end || start !== previousEnd) out.push(text.slice(start, end))
      previousEnd = end
    }
    return listOf(out)
  })
}
