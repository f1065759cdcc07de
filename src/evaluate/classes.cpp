// A class is a namespace (its methods) with a description (its fields). Its instances are sequences of values (run-time
// values in a kernel) with a pointer to the class:
//   class Point(NamedTuple): x: tl.tensor; y: tl.tensor         Point(a, b).x     is a
//   @triton.aggregate class Box: ... def area(self): ...        Box(a, b).area()  calls the method with the instance
#include "evaluate/classes.h"

#include "llvm/ADT/STLExtras.h"

namespace tilewright {

namespace {

class SourceClass : public Namespace {
public:
  SourceClass(ClassInfo given, llvm::StringMap<Value> members, std::vector<std::shared_ptr<Namespace>> bases)
      : info(std::move(given)), members(std::move(members)), bases(std::move(bases)) {
    info.lineage.insert(info.lineage.begin(), this);
  }
  std::string path() const override { return "the class " + info.name; }
  const ClassInfo *classInfo() const override { return &info; }
  std::vector<std::string> names() const override { return info.members; }
  MaybeValue lookup(llvm::StringRef name, Diagnostics &diagnostics) override {
    if (name == "__name__") return Value::string(info.name);
    if (auto found = members.find(name); found != members.end()) return found->second;
    for (const std::shared_ptr<Namespace> &base : bases)
      if (MaybeValue inherited = base->lookup(name, diagnostics)) return inherited;
    return std::nullopt;
  }

private:
  ClassInfo info;
  llvm::StringMap<Value> members;
  std::vector<std::shared_ptr<Namespace>> bases;
};

} // namespace

Value namedTupleClass(std::string name, std::vector<std::string> fields, std::vector<MaybeValue> defaults) {
  ClassInfo info;
  info.name = std::move(name);
  for (auto [field, value] : llvm::zip_equal(fields, defaults))
    info.fields.push_back({field, false, value});
  return sourceClass(std::move(info), {}, {});
}

Value sourceClass(ClassInfo info, llvm::StringMap<Value> members, std::vector<std::shared_ptr<Namespace>> bases) {
  return Value::nameSpace(std::make_shared<SourceClass>(std::move(info), std::move(members), std::move(bases)));
}

MaybeValue makeInstance(const std::shared_ptr<Namespace> &type, const NativeCall &call) {
  const ClassInfo &info = *type->classInfo();
  if (info.make) return info.make->call(call.args, call.keywords, call.range, call.diagnostics);
  if (info.hasInitializer) return Value::host("an instance of " + info.name);
  if (call.args.size() > info.fields.size())
    return call.badCall(info.name + "() has " + std::to_string(info.fields.size()) + " fields, " + std::to_string(call.args.size()) +
                        " values are given");
  Values items;
  for (size_t i = 0; i < info.fields.size(); ++i) {
    const ClassInfo::Field &field = info.fields[i];
    const Value *given = call.argument(i, field.name);
    if (!given && !field.defaultValue) return call.badCall(info.name + "() needs a value for '" + field.name + "'");
    items.push_back(given ? *given : *field.defaultValue);
  }
  for (const auto &[key, value] : call.keywords)
    if (!llvm::is_contained(info.fieldNames(), key)) return call.badCall(info.name + "() has no field '" + key + "'");
  return Value::instance(type, std::move(items));
}

} // namespace tilewright
