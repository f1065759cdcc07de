// Python's namedtuples and aggregates as the compiler's classes, and instances of them back.

#include "core.h"

#include <nanobind/stl/string.h>

namespace tilewright::python {

namespace {

class ClassScope : public Namespace {
public:
  ClassScope(nb::handle type, ClassInfo info) : type(share(type)), info(std::move(info)) {}
  std::string path() const override { return "the class " + info.name; }
  const ClassInfo *classInfo() const override { return &info; }
  std::vector<std::string> names() const override { return info.members; }
  nb::handle object() const { return type.get(); }

  std::optional<Value> lookup(llvm::StringRef name, Diagnostics &diagnostics) override {
    WithGil gil;
    try {
      nb::object member = memberOr(nb::handle(type.get()), name.str().c_str(), nb::object());
      if (!member.is_valid()) return std::nullopt;
      return info.isAggregate ? memberValue(member) : toValue(member);
    } catch (nb::python_error &error) {
      noteRaised(error, {}, nb::cast<std::string>(nb::str(error.value())), diagnostics);
      return std::nullopt;
    }
  }

private:
  Shared type;
  ClassInfo info;
};

/// {"name": ..., "fields": [(name, isConstexpr[, default])], "members": [...], "static": [...], "initializer": bool}
ClassInfo describedAggregate(nb::handle type, nb::handle description) {
  ClassInfo info;
  info.isAggregate = true;
  info.hasInitializer = nb::cast<bool>(description["initializer"]);
  for (nb::handle row : nb::iter(description["fields"])) {
    ClassInfo::Field &field = info.fields.emplace_back();
    field.name = nb::cast<std::string>(row[0]);
    field.isConstexpr = nb::cast<bool>(row[1]);
    if (nb::len(row) > 2) field.defaultValue = toValue(row[2]);
  }
  for (nb::handle name : nb::iter(description["members"]))
    info.members.push_back(nb::cast<std::string>(name));
  for (nb::handle name : nb::iter(description["static"]))
    info.staticMembers.push_back(nb::cast<std::string>(name));
  for (nb::handle base : nb::iter(type.attr("__mro__")))
    info.lineage.push_back(base.ptr());
  return info;
}

ClassInfo describedTuple(nb::handle type) {
  ClassInfo info;
  nb::object defaults = memberOr(type, "_field_defaults", nb::dict()), notes = memberOr(type, "__annotations__", nb::dict());
  for (nb::handle name : nb::iter(type.attr("_fields"))) {
    ClassInfo::Field &field = info.fields.emplace_back();
    field.name = nb::cast<std::string>(nb::str(name));
    if (PyObject *note = PyDict_GetItem(notes.ptr(), name.ptr()))
      field.isConstexpr = nb::cast<std::string>(nb::str(nb::handle(note))).find("constexpr") != std::string::npos;
    if (PyObject *value = PyDict_GetItem(defaults.ptr(), name.ptr())) field.defaultValue = toValue(value);
  }
  info.lineage.push_back(type.ptr());
  return info;
}

} // namespace

std::shared_ptr<Namespace> classScope(nb::handle type) {
  if (!PyType_Check(type.ptr())) return nullptr;
  nb::object description = memberOr(type, "_tilewright_class", nb::none());
  bool isTuple = PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(type.ptr()), &PyTuple_Type) && hasMember(type, "_fields");
  if (description.is_none() && !isTuple) return nullptr;
  ClassInfo info = isTuple ? describedTuple(type) : describedAggregate(type, description);
  info.name = nb::cast<std::string>(nb::str(type.attr("__name__")));
  info.make = classCallable(type);
  return std::make_shared<ClassScope>(type, std::move(info));
}

nb::object instanceOf(Namespace &type, nb::list values) {
  auto *ours = dynamic_cast<ClassScope *>(&type);
  if (!ours) return nb::object();
  if (!ours->classInfo()->isAggregate) return ours->object()(*nb::tuple(values));
  static constinit PackageMember make("language.aggregate", "instance_of");
  return make(ours->object(), values);
}

} // namespace tilewright::python
