/** The function names of operators in a syntax tree. */

export const operators = {
  conditional: '_?_:_',
  and: '_&&_',
  or: '_||_',
  not: '!_',
  equals: '_==_',
  notEquals: '_!=_',
  less: '_<_',
  lessEquals: '_<=_',
  greater: '_>_',
  greaterEquals: '_>=_',
  add: '_+_',
  subtract: '_-_',
  multiply: '_*_',
  divide: '_/_',
  modulo: '_%_',
  negate: '-_',
  index: '_[_]',
  optIndex: '_[?_]',
  optSelect: '_?._',
  in: '@in',
  notStrictlyFalse: '@not_strictly_false',
} as const

/** The functions of binary operators by symbol. */
export const binaryOperators: ReadonlyMap<string, string> = new Map([
  ['==', operators.equals],
  ['!=', operators.notEquals],
  ['<', operators.less],
  ['<=', operators.lessEquals],
  ['>', operators.greater],
  ['>=', operators.greaterEquals],
  ['in', operators.in],
  ['+', operators.add],
  ['-', operators.subtract],
  ['*', operators.multiply],
  ['/', operators.divide],
  ['%', operators.modulo],
  ['&&', operators.and],
  ['||', operators.or],
])

/** The function that transformMap and transformMapEntry use to accumulate; it cannot be written in an expression. */
export const mapInsert = 'cel.@mapInsert'
