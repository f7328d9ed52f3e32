import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bindMacros, optionalMacros, standardMacros, twoVariableMacros } from '../syntax/macros.ts'
import { parse } from '../syntax/parser.ts'
import { CelError } from '../syntax/source.ts'
import { check } from './checker.ts'
import { createEnv, type EnvSettings, extendEnv } from './env.ts'
import type { Library, TypeProvider } from './library.ts'
import { mapInsertDeclarations, optionalFunctionDeclarations, optionalTypeVariables } from './optional-declarations.ts'
import { standardFunctionDeclarations, standardTypeVariables } from './standard-declarations.ts'
import { standardTypes } from './standard-types.ts'
import { type CelType, dynType, formatType, intType, listType, mapType, nullableType, objectType, stringType } from './types.ts'

const fields: Record<string, Record<string, CelType>> = {
  Pod: { metadata: objectType('Meta'), containers: listType(objectType('Container')), any: dynType },
  Meta: { name: stringType, labels: mapType(stringType, stringType), grace: nullableType(intType) },
  Container: { name: stringType, port: intType },
}

const objects: TypeProvider = {
  findType: name => (Object.hasOwn(fields, name) ? objectType(name) : undefined),
  findField: (type, field) => (Object.hasOwn(fields[type] ?? {}, field) ? fields[type]![field] : undefined),
}

const base: Library = {
  functions: [...standardFunctionDeclarations(), ...optionalFunctionDeclarations(), ...mapInsertDeclarations()],
  variables: [...standardTypeVariables(), ...optionalTypeVariables()],
  macros: [...standardMacros(), ...optionalMacros(), ...twoVariableMacros(), ...bindMacros()],
  types: standardTypes,
  optionalSyntax: true,
}

const baseEnv = createEnv([base], { homogeneousLiterals: true, crossTypeNumericComparisons: true })
const env = extendEnv(baseEnv, [{ types: objects, variables: [{ name: 'self', type: objectType('Pod') }] }])

const typeOf = (text: string, settings: EnvSettings = {}): string => {
  const inEnv = extendEnv(env, [], settings)
  return formatType(check(inEnv, parse(inEnv, text)).type)
}

const problemOf = (text: string): string => {
  try {
    typeOf(text)
  } catch (error) {
    assert.ok(error instanceof CelError, String(error))
    return error.message
  }
  assert.fail(`no problem with ${text}`)
}

test('fields of objects have the types that the provider gives them', () => {
  assert.equal(typeOf('self.metadata.labels'), 'map(string, string)')
  assert.equal(typeOf('self.containers.map(c, c.port)'), 'list(int)')
  assert.equal(typeOf('self.metadata.grace'), 'wrapper(int)')
  assert.equal(typeOf('has(self.metadata.name)'), 'bool')
  assert.equal(typeOf('self.metadata.?name'), 'optional_type(string)')
  assert.equal(typeOf("self.metadata.labels[?'a'].orValue('b')"), 'string')
  assert.equal(typeOf('self.any.whatever[3]'), 'dyn')
  assert.equal(typeOf("Meta{name: 'a'}"), 'Meta')
})

test('fields that do not exist are reported, also in presence tests', () => {
  assert.equal(problemOf('self.nope'), "ERROR: <input>:1:5: undefined field 'nope'\n | self.nope\n | ....^")
  assert.match(problemOf('has(self.nope)'), /^ERROR: <input>:1:4: undefined field 'nope'/)
  assert.match(problemOf('self.__proto__'), /undefined field '__proto__'/)
  assert.match(problemOf('self.metadata.name.length'), /type 'string' does not support field selection/)
  assert.match(problemOf('Meta{nope: 1}'), /undefined field 'nope'/)
  assert.match(problemOf('Meta{name: 1}'), /expected type of field 'name' is 'string' but provided type is 'int'/)
})

test('names, functions and overloads that do not exist are reported', () => {
  assert.match(problemOf('nope'), /undeclared reference to 'nope' \(in container ''\)/)
  assert.match(problemOf('nope(1)'), /undeclared reference to 'nope' \(in container ''\)/)
  assert.match(problemOf('constructor'), /undeclared reference to 'constructor'/)
  assert.match(problemOf("1 + 'a'"), /^ERROR: <input>:1:3: found no matching overload for '_\+_' applied to '\(int, string\)'/)
  assert.match(problemOf("'a'.startsWith(1)"), /found no matching overload for 'startsWith' applied to 'string\.\(int\)'/)
  assert.match(problemOf('1 && true'), /^ERROR: <input>:1:1: expected type 'bool' but found 'int'/)
  assert.match(problemOf('1.all(x, true)'), /expression of type 'int' cannot be range of a comprehension \(must be list, map, or dynamic\)/)
})

test('lists and maps of mixed types are refused or dynamic, as the environment has it', () => {
  assert.match(problemOf("[1, 'a']"), /^ERROR: <input>:1:5: expected type 'int' but found 'string'/)
  assert.match(problemOf("{'a': 1, 2: 1}"), /^ERROR: <input>:1:10: expected type 'string' but found 'int'/)
  assert.equal(typeOf("[1, 'a']", { homogeneousLiterals: false }), 'list(dyn)')
  assert.equal(typeOf("[1, dyn('a')]"), 'list(dyn)')
  assert.equal(typeOf('[]'), 'list(dyn)')
  assert.equal(typeOf('[[], [1]]'), 'list(list(int))')
})

test('numbers of different types are compared only where that is allowed', () => {
  assert.equal(typeOf('1 < 2.0'), 'bool')
  assert.throws(() => typeOf('1 < 2.0', { crossTypeNumericComparisons: false }), /found no matching overload for '_<_'/)
})

test('null fits wrappers, objects and times, not plain values', () => {
  assert.equal(typeOf('self.metadata.grace == null'), 'bool')
  assert.equal(typeOf('self.metadata == null'), 'bool')
  assert.match(problemOf('self.metadata.name == null'), /found no matching overload for '_==_' applied to '\(string, null\)'/)
})

test('a name is looked up in the container first, and a dot in front leads out of it and of comprehensions', () => {
  const named: Library = { variables: ['a.b.x', 'x'].map((name, i) => ({ name, type: i === 0 ? intType : stringType })) }
  const inside = extendEnv(env, [named], { container: 'a.b' })
  const named2 = (text: string) => check(inside, parse(inside, text))
  assert.equal(formatType(named2('x').type), 'int')
  assert.deepEqual(named2('x').expr, { kind: 'ident', id: 1, offset: 0, name: 'a.b.x' })
  assert.equal(formatType(named2('.x').type), 'string')
  assert.equal(formatType(named2('[true].map(x, .x)[0]').type), 'string')
  assert.equal(formatType(named2('[true].map(x, x)[0]').type), 'bool')
})

test('comprehensions over two variables give index and element, key and value', () => {
  assert.equal(typeOf("['a'].transformMap(i, v, v)"), 'map(int, string)')
  assert.equal(typeOf("{'a': 1}.transformList(k, v, k)"), 'list(string)')
  assert.equal(typeOf("{'a': 1}.transformMapEntry(k, v, {v: k})"), 'map(int, string)')
  assert.equal(typeOf("{'a': 1}.exists(k, v, v > 0 && k == 'a')"), 'bool')
  assert.equal(typeOf('cel.bind(a, [1], a + a)'), 'list(int)')
  assert.equal(typeOf('self.metadata.?name.optMap(n, size(n))'), 'optional_type(int)')
})

test('calls know which of their overloads fit', () => {
  const checked = check(env, parse(env, 'size(self.any) > 0'))
  const size = checked.expr.kind === 'call' ? checked.expr.args[0]! : assert.fail()
  assert.deepEqual(checked.references[size.id], { overloads: ['size_bytes', 'size_list', 'size_map', 'size_string'] })
  assert.deepEqual(checked.references[checked.expr.id], { overloads: ['greater_int64'] })
})

test('types that double at every step come to an end', () => {
  const levels = 60
  const text = `${Array.from({ length: levels }, (_, i) => `[{v${i}: v${i}}].map(v${i + 1}, `).join('')}v${levels}${')'.repeat(levels)}`
  assert.match(problemOf(`[1].map(v0, ${text})`), /type of expression is too large/)
})

test('the widest and the deepest expressions that are allowed are checked without filling the stack', () => {
  assert.equal(typeOf(`${'(1 + '.repeat(124)}1${')'.repeat(124)}`), 'int')
  assert.equal(typeOf(`1${' + 1'.repeat(249)}`), 'int')
  assert.equal(typeOf(`${'[1].map(x, '.repeat(200)}x${')'.repeat(200)}.size()`), 'int')
  assert.equal(typeOf(`[${'1,'.repeat(49_000)}]`), 'list(int)')
})
