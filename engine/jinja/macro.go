package jinja

import "github.com/goassay/assay/engine/jinja/syntax"

// macroProto is the code of a macro or call block.
type macroProto struct {
	name           string
	named          bool // a call block's has no name
	routine        *routine
	params         []macroParam
	explicitCaller bool // caller is among the parameters
	takesCaller    bool // the body reads caller
	caller         int  // slots of the special parameters, or -1
	kwargs         int
	varargs        int
	enter          []entryOp
	code           body
	steps          int // of the defaults of its parameters; see compiler.counted
}

type macroParam struct {
	name string
	slot int
	def  expr // nil: none
	pos  syntax.Pos
}

// macro is a macro as a value: its code, and the frame in which it was defined.
type macro struct {
	// the macro itself, so that a Value can refer to it without an allocation of its own
	self  object
	proto *macroProto
	up    *frame
}

func newMacro(proto *macroProto, up *frame) Value {
	m := up.rt.macros.One()
	m.self, m.proto, m.up = m, proto, up
	return Value{kind: Object, ref: ptr(&m.self)}
}

func (m *macro) typeName() string { return "Macro" }

func (m *macro) repr() string {
	if !m.proto.named {
		return "<Macro anonymous>"
	}
	return "<Macro " + pyQuote(m.proto.name) + ">"
}

func (m *macro) attr(e *eval, name string) (Value, bool) {
	p := m.proto
	switch name {
	case "name":
		if !p.named {
			return noneValue(), true
		}
		return stringValue(p.name), true
	case "arguments":
		names := make([]Value, len(p.params))
		for i := range p.params {
			names[i] = stringValue(p.params[i].name)
		}
		return e.tuple(names...), true
	case "catch_kwargs":
		return boolValue(p.kwargs >= 0), true
	case "catch_varargs":
		return boolValue(p.varargs >= 0), true
	case "caller":
		return boolValue(p.takesCaller), true
	case "explicit_caller":
		return boolValue(p.explicitCaller), true
	}
	return Value{}, false
}

// call implements callable.
func (m *macro) call(c *call) Value { return m.run(c.args, c.kwargs) }

// run calls the macro and returns its text.
func (m *macro) run(args []Value, kwargs []kwarg) Value {
	rt := m.up.rt
	f := m.bind(args, kwargs)
	v, _ := f.capture(m.proto.code)
	m.done(f)
	return rt.markup(v)
}

// write calls the macro and writes its result.
func (m *macro) write(args []Value, kwargs []kwarg) {
	f := m.bind(args, kwargs)
	m.proto.code.run(f)
	m.done(f)
}

func (m *macro) done(f *frame) {
	f.rt.leave()
	f.rt.release(m.proto.routine, f)
}

// bind starts an activation: arguments become variables as Macro.__call__ of jinja2 has it.
func (m *macro) bind(args []Value, kwargs []kwarg) *frame {
	p, rt := m.proto, m.up.rt
	rt.step(1 + p.steps)
	rt.tick()
	f := rt.frame(p.routine, m.up)
	used := 0 // keyword arguments that are parameters
	take := func(name string) (Value, bool) {
		for i := range kwargs {
			if kwargs[i].name == name {
				used++
				return kwargs[i].value, true
			}
		}
		return Value{}, false
	}
	n := min(len(args), len(p.params))
	for i := range n {
		f.slots[p.params[i].slot] = args[i]
	}
	foundCaller := n == len(p.params) && p.explicitCaller
	rest := p.params[n:]
	if len(kwargs) > 0 || len(rest) > 0 {
		for i := range rest {
			f.slots[rest[i].slot], _ = take(rest[i].name)
			foundCaller = foundCaller || rest[i].name == "caller"
		}
	}
	if p.takesCaller && !foundCaller {
		caller, ok := take("caller")
		if !ok || caller.isNone() {
			caller = undefinedHint("No caller defined")
		}
		if p.caller >= 0 {
			f.slots[p.caller] = caller
		}
	}
	isParam := func(name string) bool {
		for i := range rest {
			if rest[i].name == name {
				return true
			}
		}
		return name == "caller" && p.takesCaller && p.caller >= 0
	}
	if p.kwargs >= 0 {
		d := f.rt.dict(len(kwargs))
		for _, k := range kwargs {
			if !isParam(k.name) {
				d.setString(k.name, k.value)
			}
		}
		f.slots[p.kwargs] = dictValue(d)
	} else if used < len(kwargs) {
		for _, k := range kwargs {
			if k.name == "caller" && !isParam(k.name) {
				panic(errf(TypeError, "macro %s was invoked with two values for the "+
					"special caller argument. This is most likely a bug.", m.quoted()))
			}
		}
		for _, k := range kwargs {
			if !isParam(k.name) {
				panic(errf(TypeError, "macro %s takes no "+
					"keyword argument %s", m.quoted(), pyQuote(k.name)))
			}
		}
	}
	if p.varargs >= 0 {
		f.slots[p.varargs] = f.rt.tuple(append([]Value(nil), args[n:]...)...)
	} else if len(args) > n {
		panic(errf(TypeError, "macro %s takes not more "+
			"than %d argument(s)", m.quoted(), len(p.params)))
	}
	rt.enter()
	f.enter(p.enter)
	if rt.dialect != nil {
		p.number(f, len(args)+len(kwargs))
	}
	for i := range p.params {
		param := &p.params[i]
		if !f.slots[param.slot].isMissing() {
			continue
		}
		if param.def == nil {
			f.slots[param.slot] = undefinedHint("parameter " + pyQuote(param.name) +
				" was not provided")
			continue
		}
		f.slots[param.slot] = param.def.eval(f)
	}
	return f
}

func (m *macro) quoted() string {
	if !m.proto.named {
		return "None"
	}
	return pyQuote(m.proto.name)
}

// macroOf returns the macro that a value is, or nil.
func macroOf(v Value) *macro {
	if v.kind != Object {
		return nil
	}
	m, _ := v.object().(*macro)
	return m
}

// macroStmt defines a macro.
type macroStmt struct {
	proto  *macroProto
	target target
}

func (s *macroStmt) exec(f *frame) jump {
	s.target.assign(f, newMacro(s.proto, f))
	return noJump
}

// callBlockStmt is {% call %}.
type callBlockStmt struct {
	proto *macroProto
	call  *callExpr
	pos   syntax.Pos
}

func (s *callBlockStmt) exec(f *frame) jump {
	caller := newMacro(s.proto, f)
	f.writeText(s.call.run(f, false, &caller), s.pos)
	return noJump
}

// generationStmt is {% generation %}: jinja2 makes its body a call block that is called at once.
type generationStmt struct {
	proto *macroProto
	pos   syntax.Pos
}

func (s *generationStmt) exec(f *frame) jump {
	m := macro{proto: s.proto, up: f}
	f.at(s.pos)
	m.write(nil, nil)
	return noJump
}
